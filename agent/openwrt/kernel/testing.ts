/**
 * For tests: the shape of what fw4 makes of a firewall package, seen on firewall4 b6e5157: which
 * chain a rule goes to, that a section makes a rule for each protocol, that chains and jumps exist
 * only where some rule asks for them.
 */
import type { UciPackage, UciSection } from '#shared/uci/model.ts';
import { own } from '#shared/util/own.ts';

const textOf = (section: UciSection, option: string): string | undefined => {
  const value = own(section.options, option);
  return typeof value === 'string' ? value : undefined;
};

/** As `nft -a -s -t list table` has it; handles begin where one says. */
export const modelText = ({ sections }: UciPackage, firstHandle = 1): string => {
  const chains = new Map<string, string[]>();
  const add = (chain: string, ...rules: string[]): void => {
    chains.set(chain, [...(chains.get(chain) ?? []), ...rules]);
  };
  const zones = sections.flatMap((section) =>
    section.type === 'zone' ? [textOf(section, 'name') ?? ''] : [],
  );
  const asked = new Set<string>();
  const some = sections.filter(({ options }) => options['enabled'] !== '0');
  for (const zone of zones) {
    add('input', `iifname "${zone}" jump input_${zone} comment "!fw4: Handle ${zone} input"`);
    add(`input_${zone}`);
  }
  for (const section of some.filter(({ type }) => type === 'rule'))
    addRule(section, { add, asked });
  for (const section of some.filter(({ type }) => type === 'redirect')) {
    const zone = textOf(section, 'src') ?? '';
    const name = textOf(section, 'name') ?? section.name;
    asked.add(`dnat ${zone}`);
    add(`dstnat_${zone}`, `dnat to ${textOf(section, 'dest_ip')} comment "!fw4: ${name}"`);
    add(`srcnat_${zone}`, `snat to 10.0.0.1 comment "!fw4: ${name} (reflection)"`);
  }
  for (const zone of zones) {
    if (asked.has(`dnat ${zone}`))
      add(`input_${zone}`, 'ct status dnat accept comment "!fw4: Accept port redirections"');
    add(`input_${zone}`, `jump accept_from_${zone}`);
  }
  for (const chain of asked) if (!chain.startsWith('dnat ')) add(chain, 'counter');
  let handle = firstHandle;
  const next = (): string => ` # handle ${handle++}`;
  const blocks = [...chains].map(
    ([name, rules]) =>
      `\tchain ${name} {${next()}\n${rules.map((rule) => `\t\t${rule}${next()}\n`).join('')}\t}\n`,
  );
  return `table inet fw4 {${next()}\n\tct helper ftp {${next()}\n\t\ttype "ftp"\n\t}\n\n${blocks.join('\n')}}\n`;
};

const addRule = (
  section: UciSection,
  { add, asked }: { add: (chain: string, rule: string) => void; asked: Set<string> },
): void => {
  const [src, dest] = [textOf(section, 'src') ?? '', textOf(section, 'dest')];
  const target = textOf(section, 'target') ?? 'accept';
  const name = textOf(section, 'name') ?? section.name;
  const verdict = dest === undefined ? target : `jump ${target}_to_${dest}`;
  if (dest !== undefined) asked.add(`${target}_to_${dest}`);
  for (const proto of (textOf(section, 'proto') ?? 'tcp udp').split(' '))
    add(
      `${dest === undefined ? 'input' : 'forward'}_${src}`,
      `${proto} dport ${textOf(section, 'dest_port') ?? '1'} counter ${verdict} comment "!fw4: ${name}"`,
    );
};
