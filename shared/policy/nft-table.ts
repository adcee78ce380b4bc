/**
 * Enforcements and the members of their groups → a table of nft. Membership is in sets alone, so
 * that a pod that comes or goes changes no rule. The same input gives the same bytes, whatever its
 * order.
 *
 * Both chains accept what they do not drop, and `accept` ends one chain only: so both directions
 * must allow a packet, and the operator's own firewall, whose table comes later, still decides
 * about what is left. Established connections pass: what changes is judged at the next one. Nothing
 * that the CNF itself sends or receives comes through the hook `forward`.
 *
 * A packet is denied because no policy of its pod lets it pass, so it counts for each of them, in
 * the counter that has the name of its chain.
 */
import { createHash } from 'node:crypto';
import { oncePerObject } from '../util/memo.ts';
import {
  FAMILIES,
  familyOf,
  holdsBlock,
  parseBlock,
  type Block,
  type Family,
} from './address-blocks.ts';
import type { Enforcement, Peer, Port, Rule } from './enforcement.ts';
import { addressOf, withoutDoubt } from './group-members.ts';

/**
 * `id`: of the enforcement, of letters, digits and `_`. `title`: whose policy it is, for those who
 * read the kernel's table.
 */
export type TableEntry = { id: string; title: string; enforcement: Enforcement };

export type NftSet = { type: string; members: readonly string[] };

export type PolicyTable = {
  /** By name. */
  sets: ReadonlyMap<string, NftSet>;
  /** Chains, in nft's language. */
  chains: string;
  /** The hash of all that. */
  hash: string;
};

export const POLICY_TABLE = 'sdewan_policy';
/**
 * A second table, that holds nothing but the hash of the first one: to list it is cheap, whatever
 * the size of the other.
 */
export const MARKER_TABLE = 'sdewan_policy_rev';

const TRIAL_TABLE = 'sdewan_policy_trial';

type Direction = {
  hook: 'ingress' | 'egress';
  prefix: 'in' | 'eg';
  /** Before fw4's 0. */
  priority: number;
  /** Which address of the packet is that of the isolated pod, and which that of its peer. */
  own: 'saddr' | 'daddr';
  peer: 'saddr' | 'daddr';
};

const DIRECTIONS: readonly Direction[] = [
  { hook: 'egress', prefix: 'eg', priority: -20, own: 'saddr', peer: 'daddr' },
  { hook: 'ingress', prefix: 'in', priority: -10, own: 'daddr', peer: 'saddr' },
];

const ADDRESS_TYPES: Readonly<Record<Family, string>> = { 4: 'ipv4_addr', 6: 'ipv6_addr' };
const WORDS: Readonly<Record<Family, string>> = { 4: 'ip', 6: 'ip6' };

/**
 * `membersOf`: of the group with that id; none where there is no such group. What is made of an
 * enforcement, or of a list of members, is kept with that object, since a change of one pod changes
 * one list of hundreds.
 */
export const policyTable = (
  entries: readonly TableEntry[],
  membersOf: (group: string) => readonly string[],
): PolicyTable => {
  const sorted = entries.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const groups = groupsIn(sorted);
  const sets = new Map<string, NftSet>();
  for (const [id, isOfPairs] of [...groups].sort(([a], [b]) => (a < b ? -1 : 1))) {
    addSets(sets, groupSet(id), { members: membersOf(id), isOfPairs });
  }
  for (const { hook, prefix } of DIRECTIONS) {
    const isolated = sorted.flatMap(({ enforcement }) =>
      enforcement[hook] ? membersOf(enforcement.pods).map(withoutDoubt) : [],
    );
    addSets(sets, isolatedSet(prefix), { members: isolated, isOfPairs: false });
  }
  const chains = DIRECTIONS.map((direction) => chainsOf(direction, sorted)).join('');
  return { sets, chains, hash: hashOf(sets, chains) };
};

/** Makes of any earlier table this one: all of it, or nothing when nft refuses. */
export const wholeFile = ({ sets, chains, hash }: PolicyTable): string =>
  `${emptied(POLICY_TABLE)}table inet ${POLICY_TABLE} {
${[...sets].map(([name, set]) => setText(name, set)).join('')}${chains}}
${markerText(hash)}`;

/**
 * Whether nft and the kernel would take the table: it is loaded where no packet comes to it, and
 * removed in the same transaction.
 */
export const trialFile = ({ sets, chains }: PolicyTable): string =>
  `${emptied(TRIAL_TABLE)}table inet ${TRIAL_TABLE} {
  flags dormant;
${[...sets].map(([name, set]) => setText(name, set)).join('')}${chains}}
delete table inet ${TRIAL_TABLE}
`;

/** Removes both tables, whether or not they are there. */
export const removalFile = (): string => `${emptied(POLICY_TABLE)}${emptied(MARKER_TABLE)}`;

/**
 * The same for a kernel that has `before`, by the sets alone; undefined when more than members
 * differs. Sets that differ are written whole, since adding and removing single members fails as a
 * whole when one is there, or gone, already.
 */
export const membersFile = (after: PolicyTable, before: PolicyTable): string | undefined => {
  const names = [...after.sets.keys()];
  const isAlike =
    after.chains === before.chains &&
    names.length === before.sets.size &&
    names.every((name) => before.sets.get(name)?.type === after.sets.get(name)?.type);
  if (!isAlike) return undefined;
  const changed = changedSets(after, before);
  const lines = changed.flatMap((name) => {
    const { members = [] } = after.sets.get(name) ?? {};
    const flush = `flush set inet ${POLICY_TABLE} ${name}\n`;
    if (members.length === 0) return [flush];
    return [flush, `add element inet ${POLICY_TABLE} ${name} { ${members.join(', ')} }\n`];
  });
  return `${lines.join('')}${markerText(after.hash)}`;
};

/** The sets that differ between two tables with the same sets. */
export const changedSets = (after: PolicyTable, before: PolicyTable): string[] =>
  [...after.sets].flatMap(([name, { members }]) =>
    isSameList(members, before.sets.get(name)?.members) ? [] : [name],
  );

export const isSameList = (one: readonly string[], other: readonly string[] = []): boolean =>
  one === other || (one.length === other.length && one.every((each, at) => each === other[at]));

const emptied = (table: string): string => `table inet ${table} {}\ndelete table inet ${table}\n`;

const markerText = (hash: string): string =>
  `${emptied(MARKER_TABLE)}table inet ${MARKER_TABLE} { comment "${hash}"; }\n`;

const hashOf = (sets: ReadonlyMap<string, NftSet>, chains: string): string =>
  createHash('sha256')
    .update(JSON.stringify([[...sets], chains]))
    .digest('hex')
    .slice(0, 32);

/** Id -> whether its members are addresses with ports. */
const groupsIn = (entries: readonly TableEntry[]): ReadonlyMap<string, boolean> => {
  const rules = entries.flatMap(({ enforcement: { ingress = [], egress = [] } }) => [
    ...ingress,
    ...egress,
  ]);
  const peers = rules.flatMap((rule) => rule.peers ?? []);
  const ports = rules.flatMap((rule) => rule.ports ?? []);
  return new Map([
    ...entries.map(({ enforcement }) => [enforcement.pods, false] as const),
    ...peers.flatMap((peer) => ('group' in peer ? [[peer.group, false] as const] : [])),
    ...ports.flatMap(({ group }) => (group === undefined ? [] : [[group, true] as const])),
  ]);
};

/**
 * The entries whose words of nft are at that line of the whole file: a chain has one, a set has all
 * that use its group. Lines from 1.
 */
export const entriesAtLine = (
  file: string,
  line: number,
  entries: readonly TableEntry[],
): readonly TableEntry[] => {
  const head = file
    .split('\n')
    .slice(0, line)
    .findLast((text) => /^ {2}(chain|counter|set) /.test(text));
  const [, kind, id] =
    /^ {2}(chain|counter|set) (?:in|eg|g)_(\w+?)(?:_[46])? \{$/.exec(head ?? '') ?? [];
  if (id === undefined) return [];
  return entries.filter((entry) => (kind === 'set' ? groupsIn([entry]).has(id) : entry.id === id));
};

/** What the counter of that name counts: denied packets in one direction. Undefined: not ours. */
export const countedBy = (
  counter: string,
): { direction: 'ingress' | 'egress'; id: string } | undefined => {
  const of = DIRECTIONS.find(({ prefix }) => counter.startsWith(`${prefix}_`));
  return of && { direction: of.hook, id: counter.slice(of.prefix.length + 1) };
};

const groupSet = (id: string): string => `g_${id}`;
const isolatedSet = (prefix: string): string => `isolated_${prefix}`;

const addSets = (
  sets: Map<string, NftSet>,
  name: string,
  { members, isOfPairs }: { members: readonly string[]; isOfPairs: boolean },
): void => {
  const byFamily = membersByFamily(members);
  for (const family of FAMILIES) {
    const type = `${ADDRESS_TYPES[family]}${isOfPairs ? ' . inet_service' : ''}`;
    sets.set(`${name}_${family}`, { type, members: byFamily[family] });
  }
};

/** What is no address is in none. */
const membersByFamily = oncePerObject(
  (members: readonly string[]): Readonly<Record<Family, readonly string[]>> => {
    const byFamily: Record<Family, string[]> = { 4: [], 6: [] };
    for (const member of [...new Set(members)].sort()) {
      const family = familyOf(addressOf(member));
      if (family !== undefined) byFamily[family].push(member);
    }
    return byFamily;
  },
);

const setText = (name: string, { type, members }: NftSet): string => {
  const elements = members.length > 0 ? `\n    elements = { ${members.join(', ')} }` : '';
  return `  set ${name} {\n    type ${type}${elements}\n  }\n`;
};

const NEIGHBOURS = 'nd-neighbor-solicit, nd-neighbor-advert, nd-router-advert, nd-router-solicit';

const chainsOf = (direction: Direction, entries: readonly TableEntry[]): string => {
  const { hook, prefix, priority, own } = direction;
  const isolating = entries.flatMap(({ id, title, enforcement }) => {
    const lines = linesByHook(enforcement)[hook];
    return lines === undefined ? [] : [{ id, title, lines, pods: enforcement.pods }];
  });
  const policies = isolating.map(
    ({ id, title, lines }) =>
      `  counter ${prefix}_${id} {\n  }\n  chain ${prefix}_${id} {\n    comment ${quoted(title)}\n${lines}  }\n`,
  );
  const ofEach = (what: (chain: string) => string): string[] =>
    isolating.flatMap(({ id, pods }) =>
      FAMILIES.map(
        (family) =>
          `${WORDS[family]} ${own} @${groupSet(pods)}_${family} ${what(`${prefix}_${id}`)}`,
      ),
    );
  const jumps = ofEach((chain) => `jump ${chain}`);
  const counts = ofEach((counter) => `counter name ${counter}`);
  const entry = FAMILIES.map(
    (family) => `${WORDS[family]} ${own} @${isolatedSet(prefix)}_${family} jump ${prefix}_isolated`,
  );
  return `${policies.join('')}  chain ${prefix}_isolated {
${linesText([...jumps, ...counts, 'counter drop'])}  }
  chain ${hook} {
    type filter hook forward priority ${priority}; policy accept;
${linesText(['ct state established,related accept', `icmpv6 type { ${NEIGHBOURS} } accept`, ...entry])}  }
`;
};

const linesText = (lines: readonly string[]): string =>
  lines.map((line) => `    ${line}\n`).join('');

/** Undefined where it isolates nothing. */
const linesByHook = oncePerObject(
  (enforcement: Enforcement): Partial<Record<Direction['hook'], string>> =>
    Object.fromEntries(
      DIRECTIONS.flatMap((direction) => {
        const rules = enforcement[direction.hook];
        if (rules === undefined) return [];
        return [
          [direction.hook, linesText(rules.flatMap((rule) => linesOf(rule, direction)))] as const,
        ];
      }),
    ),
);

const linesOf = ({ peers, ports }: Rule, { peer: side }: Direction): string[] => {
  const matches = ports ?? [undefined];
  return matches.flatMap((port) => {
    const ofPort = peers?.flatMap((peer) => peerMatches(peer, side)) ?? anyPeer(port);
    return ofPort.map(({ family, text }) =>
      [portMatch(port, family), text, 'accept'].filter((part) => part !== '').join(' '),
    );
  });
};

type PeerMatch = { family: Family; text: string };

/** Only a port's name asks for a family. */
const anyPeer = (port: Port | undefined): PeerMatch[] =>
  FAMILIES.slice(0, port?.group === undefined ? 1 : undefined).map((family) => ({
    family,
    text: '',
  }));

const peerMatches = (peer: Peer, side: string): PeerMatch[] => {
  if ('group' in peer)
    return FAMILIES.map((family) => ({
      family,
      text: `${WORDS[family]} ${side} @${groupSet(peer.group)}_${family}`,
    }));
  const block = parseBlock(peer.cidr);
  if (block === undefined) return [];
  const word = `${WORDS[block.family]} ${side}`;
  const isWithin = block.length === 0 ? `meta nfproto ipv${block.family}` : `${word} ${peer.cidr}`;
  const except = exceptions(peer.except, block);
  if (except === undefined) return [];
  const isNot = except.length > 0 ? ` ${word} != { ${except.join(', ')} }` : '';
  return [{ family: block.family, text: `${isWithin}${isNot}` }];
};

/** Without those that lie in others, which nft refuses; undefined when no block is left. */
const exceptions = (texts: readonly string[], within: Block): readonly string[] | undefined => {
  const blocks = [...new Set(texts)].flatMap((text) => {
    const block = parseBlock(text);
    return block ? [{ text, block }] : [];
  });
  if (blocks.some(({ block }) => holdsBlock(block, within))) return undefined;
  return blocks
    .filter(
      ({ text, block }) =>
        holdsBlock(within, block) &&
        !blocks.some((other) => other.text !== text && holdsBlock(other.block, block)),
    )
    .map(({ text }) => text);
};

const portMatch = (port: Port | undefined, family: Family): string => {
  if (port === undefined) return '';
  const protocol = port.protocol.toLowerCase();
  if (port.group !== undefined)
    return `meta l4proto ${protocol} ${WORDS[family]} daddr . th dport @${groupSet(port.group)}_${family}`;
  if (port.port === undefined) return `meta l4proto ${protocol}`;
  const upTo = port.endPort === undefined ? '' : `-${port.endPort}`;
  return `${protocol} dport ${port.port}${upTo}`;
};

/** What nft takes as a comment has 128 bytes at most. */
const MAX_COMMENT = 120;

const quoted = (title: string): string =>
  `"${title.replaceAll(/[^\w./-]/g, '_').slice(0, MAX_COMMENT)}"`;
