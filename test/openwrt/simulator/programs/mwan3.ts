/**
 * What mwan3 puts into table mangle, in the words of `iptables -S`: its chains of policies and
 * rules. As measured on a device with mwan3 2.11 (test/contract/conformance/mwan3.test.ts): each
 * policy is loaded alone, the rules of a family all or none, and what iptables-restore refuses goes
 * to the log only. An uplink that comes or goes changes policies and nothing else.
 */
import { isIPv4 } from 'node:net';
import { UciError } from '../uci/errors.ts';
import type { UciSection } from '../uci/package.ts';
import type { UciStore } from '../uci/store.ts';

const FAMILIES = ['ipv4', 'ipv6'] as const;
type Family = (typeof FAMILIES)[number];

/** `refused`: the line that iptables-restore names, and its words. */
type Chains = { policies: string[]; rules: string[]; refused?: readonly [string, string] };

const UNMARKED = '-m mark --mark 0x0/0x3f00';
const MARKS: Readonly<Record<string, string>> = {
  default: '0x3f00/0x3f00',
  unreachable: '0x3e00/0x3f00',
  blackhole: '0x3d00/0x3f00',
};
const MAX_NAME = 15;
const MAX_METRIC = 256;
const MAX_PORTS = 15;

export class Mwan3 {
  readonly #store: UciStore;
  readonly #offline = new Set<string>();
  #chains = new Map<Family, Chains>();
  /** Whether its kernel has sets of addresses with marks, which sticky rules need. */
  hasSets = true;

  constructor(store: UciStore) {
    this.#store = store;
  }

  /** The lines of its init script. */
  act(action: string): void {
    this.#chains = new Map();
    if (['start', 'restart', 'reload'].includes(action)) this.#load();
  }

  /** Its chains are hooked into table mangle. */
  get isLoaded(): boolean {
    return this.#chains.size > 0;
  }

  /** As its tracker finds the uplink. */
  setOnline(uplink: string, isOnline: boolean): void {
    if (isOnline) this.#offline.delete(uplink);
    else this.#offline.add(uplink);
    for (const [family, chains] of this.#chains) chains.policies = this.#policiesOf(family);
  }

  /** As `iptables -F`, or `-D` for lines with these words. */
  remove(words: string): void {
    const stays = (line: string): boolean => !line.startsWith('-A') || !line.includes(words);
    for (const chains of this.#chains.values()) {
      chains.rules = chains.rules.filter(stays);
      chains.policies = chains.policies.filter(stays);
    }
  }

  /** What the agent's helper prints. */
  shown(): string {
    const uplinks = this.#sections('interface').filter((uplink) => this.#isOnline(uplink));
    const families = [...this.#chains].flatMap(([family, { policies, rules, refused }]) => [
      `== ${family}`,
      ...policies,
      ...(refused ? ['-N mwan3_rules'] : rules),
      ...(refused ? [`== refused ${family}`, ...refused] : []),
    ]);
    return [['== online', ...uplinks.map(({ name }) => name)].join(' '), ...families, ''].join(
      '\n',
    );
  }

  #load(): void {
    for (const family of FAMILIES) {
      const lines = this.#rulesOf(family);
      const refused = lines.flatMap((line): (readonly [string, string])[] => {
        const why = this.#whyRefused(line);
        const program = family === 'ipv4' ? 'iptables-restore' : 'ip6tables-restore';
        return why === undefined ? [] : [[line, `${program} v1.8.9 (nf_tables): ${why}`]];
      });
      const [first] = refused;
      this.#chains.set(family, {
        policies: this.#policiesOf(family),
        rules: first ? [] : ['-N mwan3_rules', ...lines],
        ...(first && { refused: first }),
      });
    }
  }

  #whyRefused(line: string): string | undefined {
    for (const [, ports = ''] of line.matchAll(/ports (\S+)/g)) {
      const ranges = ports.split(',').map((port) => port.split(':').map(Number));
      if (ranges.some(([low = 0, high]) => high !== undefined && low >= high))
        return 'invalid portrange specified';
      if (ranges.flat().length > MAX_PORTS) return 'too many ports specified';
    }
    const [, set] = /--(?:add|del)-set (\S+)/.exec(line) ?? [];
    return set === undefined || this.hasSets ? undefined : `Set ${set} doesn't exist.`;
  }

  #isOnline(uplink: UciSection): boolean {
    return textOf(uplink, 'enabled') === '1' && !this.#offline.has(uplink.name);
  }

  #policiesOf(family: Family): string[] {
    return this.#sections('policy')
      .filter(({ name }) => name.length <= MAX_NAME)
      .flatMap((policy) => {
        const chain = `mwan3_policy_${policy.name}`;
        const lines = policyLines(
          chain,
          textOf(policy, 'last_resort'),
          this.#membersOf(policy, family),
        );
        return [`-N ${chain}`, ...lines];
      });
  }

  #membersOf(policy: UciSection, family: Family): Member[] {
    const uplinks = this.#sections('interface');
    const members = this.#sections('member');
    return listOf(policy, 'use_member').flatMap((name) => {
      const member = members.find((each) => each.name === name);
      const named = member === undefined ? '' : textOf(member, 'interface');
      const uplink = uplinks.find((each) => each.name === named);
      if (member === undefined || uplink === undefined) return [];
      const [metric, weight] = [
        Number(textOf(member, 'metric') || 1),
        Number(textOf(member, 'weight') || 1),
      ];
      if ((textOf(uplink, 'family') || 'ipv4') !== family || metric > MAX_METRIC) return [];
      const device = this.#deviceOf(named);
      const isOnline = this.#isOnline(uplink);
      return [
        { name: named, metric, weight, mark: markOf(uplinks.indexOf(uplink)), isOnline, device },
      ];
    });
  }

  #deviceOf(uplink: string): string {
    const section = this.#sections('interface', 'network').find(({ name }) => name === uplink);
    return section === undefined ? '' : textOf(section, 'device');
  }

  #rulesOf(family: Family): string[] {
    const rules = this.#sections('rule').filter(
      (rule) => rule.name.length <= MAX_NAME && isFor(rule, family),
    );
    return rules.flatMap((rule) => {
      const policy = textOf(rule, 'use_policy');
      const mark = MARKS[policy];
      if (mark !== undefined) return [ruleLine(rule, `MARK --set-xmark ${mark}`)];
      if (textOf(rule, 'sticky') !== '1') return [ruleLine(rule, `mwan3_policy_${policy}`)];
      const own = this.#stickyLines(rule.name, family, policy);
      return [...own, ruleLine(rule, `mwan3_rule_${rule.name}`)];
    });
  }

  /** What one of its sources was sent by last, the next packet is sent by as well. */
  #stickyLines(rule: string, family: Family, name: string): readonly string[] {
    const chain = `-A mwan3_rule_${rule}`;
    const set = `mwan3_rule_${family}_${rule}`;
    const policy = this.#sections('policy').find((each) => each.name === name);
    const members = policy === undefined ? [] : this.#membersOf(policy, family);
    const used = new Set(
      policyLines('', '', members).flatMap((line) => /"(\S+) \d+ \d+"/.exec(line)?.[1] ?? []),
    );
    const remembered = this.#sections('interface').flatMap((uplink, at) =>
      used.has(uplink.name)
        ? [
            [
              `${chain} ${UNMARKED} -j MARK --set-xmark ${markOf(at)}`,
              `${chain} -m mark --mark ${markOf(at)} -m set ! --match-set ${set} src,src -j MARK --set-xmark 0x0/0x3f00`,
            ],
          ]
        : [],
    );
    const marked = '-m mark ! --mark 0xfc00/0xfc00';
    return [
      `-N mwan3_rule_${rule}`,
      ...remembered.toReversed().flat(),
      `${chain} ${UNMARKED} -j mwan3_policy_${name}`,
      `${chain} ${marked} -j SET --del-set ${set} src,src`,
      `${chain} ${marked} -j SET --add-set ${set} src,src`,
    ];
  }

  #sections(type: string, name = 'mwan3'): UciSection[] {
    try {
      return this.#store.load(name).package.sections.filter((each) => each.type === type);
    } catch (error) {
      if (error instanceof UciError) return [];
      throw error;
    }
  }
}

const isFor = (rule: UciSection, family: Family): boolean => {
  const asked = textOf(rule, 'family');
  const isOther = family === 'ipv4' ? /:/ : /(?:\d+\.){3}/;
  const isAsked = asked === family || (asked !== 'ipv4' && asked !== 'ipv6');
  return isAsked && !['src_ip', 'dest_ip'].some((option) => isOther.test(textOf(rule, option)));
};

const ruleLine = (rule: UciSection, target: string): string => {
  const option = (name: string): string => textOf(rule, name);
  const proto = option('proto');
  const hasPorts = proto === 'tcp' || proto === 'udp';
  const match = [
    worded('-s', networkOf(option('src_ip'))),
    worded('-d', networkOf(option('dest_ip'))),
    worded('-p', proto === 'all' ? '' : proto),
    worded('-m multiport --sports', hasPorts ? option('src_port') : ''),
    worded('-m multiport --dports', hasPorts ? option('dest_port') : ''),
  ];
  return ['-A mwan3_rules', ...match.filter((part) => part !== ''), UNMARKED, `-j ${target}`].join(
    ' ',
  );
};

type Member = {
  name: string;
  metric: number;
  weight: number;
  mark: string;
  isOnline: boolean;
  device: string;
};

const markOf = (at: number): string => `0x${((at + 1) << 8).toString(16)}/0x3f00`;

/**
 * A member of the least metric so far begins the chain anew, each of the same goes before it, with
 * its share of those until then. Of one that is offline only what leaves by its device matters, as
 * long as no other is online.
 */
const policyLines = (
  chain: string,
  lastResort: string,
  members: readonly Member[],
): readonly string[] => {
  const last = lastResort === 'blackhole' || lastResort === 'default' ? lastResort : 'unreachable';
  let lines = [
    `-A ${chain} ${UNMARKED} -m comment --comment ${last} -j MARK --set-xmark ${MARKS[last]}`,
  ];
  let [lowest, total] = [MAX_METRIC, 0];
  for (const { name, metric, weight, mark, isOnline, device } of members) {
    if (!isOnline) {
      const out = `-A ${chain} -o ${device} ${UNMARKED} -m comment --comment "out ${name} ${device}" -j MARK --set-xmark ${MARKS['default']}`;
      if (total === 0 && device !== '') lines.unshift(out);
      continue;
    }
    if (metric > lowest) continue;
    const isLowest = metric < lowest;
    total = isLowest ? weight : total + weight;
    lowest = metric;
    const share = Math.floor((weight * 1_000) / total) / 1_000;
    const random = isLowest ? '' : ` -m statistic --mode random --probability ${share.toFixed(11)}`;
    const line = `-A ${chain} ${UNMARKED}${random} -m comment --comment "${name} ${weight} ${total}" -j MARK --set-xmark ${mark}`;
    if (isLowest) lines = [];
    lines.unshift(line);
  }
  return lines;
};

/** As iptables prints it: nothing for all addresses. */
const networkOf = (network: string): string => {
  const [address = '', mask] = network.split('/');
  if (address === '' || mask === '0' || mask === '0.0.0.0') return '';
  return `${address}/${mask ?? (isIPv4(address) ? '32' : '128')}`;
};

const worded = (words: string, value: string): string => (value === '' ? '' : `${words} ${value}`);

const textOf = (section: UciSection, option: string): string => {
  const value = section.options.get(option);
  return typeof value === 'string' ? value : '';
};

const listOf = (section: UciSection, option: string): readonly string[] => {
  const value = section.options.get(option) ?? [];
  return typeof value === 'string' ? [value] : value;
};
