/**
 * What nft would make of the first packet of a connection: reads the few words of nft's language in
 * which policy tables are written, and refuses any other. Imports nothing of what it judges; the
 * kernel itself judges the same tables in `packets/`.
 */
import { BlockList } from 'node:net';
import type { Packet } from './evaluator.ts';

type Ruleset = { sets: Map<string, Set<string>>; chains: Map<string, string[]> };
type Verdict = 'accept' | 'drop' | undefined;

export const readTable = (text: string): Ruleset => {
  const body = /^table inet sdewan_policy \{\n([^]*?)^\}$/m.exec(text)?.[1] ?? '';
  const sets = new Map<string, Set<string>>();
  const chains = new Map<string, string[]>();
  for (const [, kind = '', name = '', inside = ''] of body.matchAll(
    /^ {2}(set|chain) (\w+) \{\n([^]*?)^ {2}\}$/gm,
  )) {
    const lines = inside.split('\n').map((line) => line.trim());
    if (kind === 'set') {
      const elements = /elements = \{ (.*) \}/.exec(inside)?.[1] ?? '';
      sets.set(name, new Set(elements.split(', ').filter((element) => element !== '')));
    } else
      chains.set(
        name,
        lines.filter((line) => line !== '' && !line.startsWith('comment ')),
      );
  }
  return { sets, chains };
};

export const passesTable = (ruleset: Ruleset, packet: Packet): boolean =>
  ['egress', 'ingress'].every((hook) => verdictOf(ruleset, hook, packet) !== 'drop');

const verdictOf = (ruleset: Ruleset, chain: string, packet: Packet): Verdict => {
  const rules = ruleset.chains.get(chain);
  if (rules === undefined) throw new Error(`no chain ${chain}`);
  for (const rule of rules) {
    const verdict = ruleVerdict(ruleset, rule, packet);
    if (verdict !== undefined) return verdict;
  }
  return undefined;
};

/** Each takes the match that the rest of the rule begins with. */
const MATCHES: readonly [RegExp, (packet: Packet, found: string[], ruleset: Ruleset) => boolean][] =
  [
    [/^type filter hook forward priority -[12]0; policy accept;$/, () => false],
    [/^ct state established,related /, () => false],
    [/^icmpv6 type \{ [a-z, -]+ \} /, () => false],
    [/^counter name \w+$/, () => false],
    [/^counter (?!name )/, () => true],
    [/^meta nfproto ipv([46]) /, (packet, [family]) => familyOf(packet) === family],
    [/^meta l4proto (\w+) /, (packet, [protocol]) => isOf(packet, protocol)],
    [
      /^(tcp|udp|sctp) dport (\d+)(?:-(\d+))? /,
      (packet, [protocol, low, high = low]) =>
        isOf(packet, protocol) && packet.port >= Number(low) && packet.port <= Number(high),
    ],
    [
      /^(ip6?) daddr \. th dport @(\w+) /,
      (packet, [word, set], ruleset) =>
        isOfFamily(packet, word) && memberOf(ruleset, set, `${packet.to} . ${packet.port}`),
    ],
    [
      /^(ip6?) ([sd])addr @(\w+) /,
      (packet, [word, side, set], ruleset) =>
        isOfFamily(packet, word) && memberOf(ruleset, set, sideOf(packet, side)),
    ],
    [
      /^(ip6?) ([sd])addr != \{ ([^}]+) \} /,
      (packet, [word, side, blocks = '']) =>
        isOfFamily(packet, word) &&
        !blocks.split(', ').some((block) => isIn(block, sideOf(packet, side))),
    ],
    [
      /^(ip6?) ([sd])addr ([0-9a-f.:]+\/\d+) /,
      (packet, [word, side, block = '']) =>
        isOfFamily(packet, word) && isIn(block, sideOf(packet, side)),
    ],
  ];

const ruleVerdict = (ruleset: Ruleset, rule: string, packet: Packet): Verdict => {
  let rest = rule;
  while (!/^(accept|drop|jump \w+)$/.test(rest)) {
    const known = MATCHES.find(([pattern]) => pattern.test(rest));
    const found = known?.[0].exec(rest);
    if (!known || !found) throw new Error(`nft's words are not known: ${rest}`);
    const [all, ...parts] = found;
    if (!known[1](packet, parts, ruleset)) return undefined;
    rest = rest.slice(all.length);
  }
  if (rest === 'accept' || rest === 'drop') return rest;
  return verdictOf(ruleset, rest.slice('jump '.length), packet);
};

const familyOf = ({ from }: Packet): string => (from.includes(':') ? '6' : '4');
const isOfFamily = (packet: Packet, word: string | undefined): boolean =>
  familyOf(packet) === (word === 'ip6' ? '6' : '4');
const isOf = (packet: Packet, protocol: string | undefined): boolean =>
  packet.protocol.toLowerCase() === protocol;
const sideOf = ({ from, to }: Packet, side: string | undefined): string =>
  side === 's' ? from : to;
const memberOf = ({ sets }: Ruleset, name = '', member = ''): boolean => {
  const set = sets.get(name);
  if (set === undefined) throw new Error(`no set ${name}`);
  return set.has(member);
};

const isIn = (block: string, address: string): boolean => {
  const [base = '', length = ''] = block.split('/');
  const list = new BlockList();
  const type = base.includes(':') ? 'ipv6' : 'ipv4';
  list.addSubnet(base, Number(length), type);
  return list.check(address, type);
};
