/**
 * Which section a rule of the kernel comes from: by its chain, what it is called there, and its
 * place among those of that name. Pure.
 */
import type { UciSection } from '../../uci/model.ts';
import { leakageOf, LOOPBACK, SYN_FLOOD, translatedIn } from '../inner.ts';
import type { Action, ChainRule, Firewall, Origin } from '../types.ts';

/** A rule as it is met; `at`: from 1 on in its chain. */
export type Met = { chain: string; at: number; comment: string; action: Action };
export type OriginOf = (met: Met) => Origin;

/** For one listing, whose rules are asked about in order. `firewall`: what the sections become. */
export const originsBy = (firewall: Firewall, sections: readonly UciSection[]): OriginOf => {
  const called = callingOf(sections);
  const left = new Map(
    [...firewall.chains].map(([chain, rules]) => [chain, byComment(rules, called)] as const),
  );
  return (met) => {
    const ours = left.get(met.chain)?.get(met.comment.replace(REFLECTED, ''));
    // The last of them stands for what comes too often.
    const one = ours && ours.length > 1 ? ours.shift() : ours?.[0];
    return one ?? zoneOrigin(met, firewall) ?? innerOrigin(met) ?? strange(met);
  };
};

/** Behind the name of a redirect. */
const REFLECTED = / \(reflection\)$/;

const byComment = (
  rules: readonly ChainRule[],
  called: (origin: Origin) => string | undefined,
): Map<string | undefined, Origin[]> =>
  Map.groupBy(
    rules.map(({ origin }) => origin),
    called,
  );

/** As firewall4 calls a section: by its name, or by its place among those of its type. */
const callingOf = (sections: readonly UciSection[]) => {
  const counts = new Map<string, number>();
  const ids = new Map(
    sections.map((section) => {
      const count = counts.get(section.type) ?? 0;
      counts.set(section.type, count + 1);
      return [section, section.anonymous ? `@${section.type}[${count}]` : section.name] as const;
    }),
  );
  return (origin: Origin): string | undefined => {
    if (origin.of !== 'section') return undefined;
    const { name } = origin.section.options;
    return `!fw4: ${typeof name === 'string' ? name : (ids.get(origin.section) ?? '')}`;
  };
};

const OF_A_ZONE = /^(input|output|forward|srcnat|dstnat|notrack)_(.+)$/;
const VERDICT = /^(accept|reject|drop)_(from|to)_(.+)$/;

const zoneOrigin = (met: Met, { zones }: Firewall): Origin | undefined => {
  const sectionOf = (name: string) => zones.find((zone) => zone.name === name)?.section;
  const [, hook = '', name = ''] = OF_A_ZONE.exec(met.chain) ?? [];
  const section = sectionOf(name);
  const option = optionOf(met, hook);
  if (section && option !== undefined) return { of: 'zone', section, zone: name, option };
  const entered = enteredBy(met);
  const zone = entered === undefined ? undefined : sectionOf(entered);
  if (zone && entered !== undefined) return { of: 'entry', section: zone, zone: entered };
  return VERDICT.test(met.chain) && met.comment !== LEAKAGE ? { of: 'passage' } : undefined;
};

/** What the zone's section says with a rule in a chain of the zone. */
const optionOf = ({ comment, action }: Met, hook: string): string | undefined => {
  const [, family] = /^!fw4: Masquerade IPv([46]) /.exec(comment) ?? [];
  if (family !== undefined) return family === '4' ? 'masq' : 'masq6';
  return comment === '' && VERDICT.test(chainOf(action)) ? hook : undefined;
};

/** Into whose chain it leads. */
const enteredBy = ({ comment, action }: Met): string | undefined => {
  const [, , name = ''] = OF_A_ZONE.exec(chainOf(action)) ?? [];
  return comment.startsWith(`!fw4: Handle ${name} `) ? name : undefined;
};

const chainOf = (action: Action): string => (action.do === 'jump' ? action.chain : '');

const LEAKAGE = '!fw4: Prevent NAT leakage';
const FROM_ITSELF = /^!fw4: Accept traffic (from|towards) loopback$/;
const TRANSLATED = /^!fw4: Accept port (forwards|redirections)$/;
const PASSAGES: ReadonlySet<string> = new Set(['handle_reject', 'syn_flood']);
const HOOKS = ['input', 'output', 'forward'] as const;

const innerOrigin = ({ chain, comment, action }: Met): Origin | undefined => {
  if (PASSAGES.has(chain)) return { of: 'passage' };
  const zone = chain.replace(/^(?:accept_to|input|forward)_/, '');
  if (comment === LEAKAGE) return leakageOf(zone);
  if (TRANSLATED.test(comment)) return translatedIn(zone);
  if (FROM_ITSELF.test(comment)) return LOOPBACK;
  if (action.do !== 'jump') return undefined;
  if (action.chain === 'syn_flood') return SYN_FLOOD;
  const hook = HOOKS.find((one) => one === chain);
  return hook && comment === '' && action.chain === 'handle_reject'
    ? { of: 'default', option: hook }
    : undefined;
};

const strange = ({ chain, at, comment }: Met): Origin => ({
  of: 'inner',
  name: `kernel:${chain}:${at}`,
  words: `rule ${at} of chain ${chain} in the kernel${comment === '' ? '' : ` (${comment})`}, which no section explains`,
});
