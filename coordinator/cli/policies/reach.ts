/**
 * Between whom packets pass at one place before policies change, and after. Pure. Pods of which all policies say the same are looked at once, and
 * so are the ports between which no policy makes a difference: the answer is exact, and its price is that of the differences.
 */
import {
  addressText,
  holdsBlock,
  parseAddress,
  parseBlock,
  WIDTH,
} from '#shared/policy/addresses.ts';
import type { Address, Block, Family } from '#shared/policy/addresses.ts';
import { decide, passes } from '#shared/policy/decide.ts';
import type { Enforcement, Port, Rule } from '#shared/policy/enforcement.ts';
import { addressOf } from '#shared/policy/groups.ts';
import { PROTOCOLS, type Protocol } from '#shared/policy/network-policy.ts';
import { isWithin } from '#shared/policy/networks.ts';

/** `name`: as people know it; several ends can have one. `side`: packets go between ends of one side; `subnet`: and not within one. */
export type PolicyEnd = { name: string; address: string; side: string; subnet?: string };

export type PolicyEntry = { of: string; enforcement: Enforcement };

export type PolicyChange = {
  before: readonly PolicyEntry[];
  after: readonly PolicyEntry[];
  /** Those that differ, by `of`. */
  changed: ReadonlySet<string>;
  /** By group. */
  members: ReadonlyMap<string, ReadonlySet<string>>;
  ends: readonly PolicyEnd[];
};

export type Connection = { change: 'Cut' | 'Opened'; from: string; to: string; ports: string[] };

/** `notCompared`: of so many pairs of ends nothing is known, since there are too many. */
export type Reached = { connections: Connection[]; notCompared: number };

/** Of one place; somebody waits for the answer, and so many take some seconds. */
const MAX_PAIRS = 20_000;

export const reachChanges = (change: PolicyChange): Reached => {
  const classes = classesOf(change);
  const pairs = classes.flatMap((one) =>
    one.isConcerned
      ? classes.flatMap((other): [Class, Class][] => {
          if (!canMeet(one, other)) return [];
          // Of two that are concerned each finds the way from it.
          return other.isConcerned
            ? [[one, other]]
            : [
                [one, other],
                [other, one],
              ];
        })
      : [],
  );
  const connections = new Map<string, Connection>();
  for (const [from, to] of pairs.slice(0, MAX_PAIRS))
    for (const found of differencesOf(from, to, change))
      connections.set(JSON.stringify(found), found);
  return {
    connections: [...connections.values()],
    notCompared: Math.max(0, pairs.length - MAX_PAIRS),
  };
};

type Class = {
  end: PolicyEnd;
  family: Family;
  /** A policy that changes selects it. */
  isConcerned: boolean;
  before: readonly PolicyEntry[];
  after: readonly PolicyEntry[];
  /** How many of the ends. */
  count: number;
};

/** What is not on any side is reached from all. */
const EVERYWHERE = '';

const canMeet = (one: Class, other: Class): boolean =>
  one.family === other.family &&
  (one.end.side === other.end.side || other.end.side === EVERYWHERE) &&
  (one !== other || one.count > 1) &&
  (one.end.subnet === undefined || !isWithin(other.end.address, [one.end.subnet]));

const classesOf = (change: PolicyChange): Class[] => {
  const { before, after, changed, members, ends } = change;
  const groupsOf = new Map<string, string[]>();
  for (const [group, all] of members)
    for (const member of all) {
      const address = addressOf(member);
      groupsOf.set(address, [...(groupsOf.get(address) ?? []), `${group} ${member}`]);
    }
  const blocks = blocksIn([...before, ...after]);
  const classes = new Map<string, Class>();
  const selects =
    (address: string) =>
    ({ enforcement }: PolicyEntry): boolean =>
      members.get(enforcement.pods)?.has(address) === true;
  const put = (end: PolicyEnd): void => {
    const parsed = parseAddress(end.address);
    if (parsed === undefined) return;
    const { name, side, subnet, address } = end;
    const within = blocks.filter((block) => holds(block, parsed)).map((block) => block.text);
    // A member of a group of ports bears its own address, which says nothing of the class.
    const groups = (groupsOf.get(address) ?? []).map((text) => text.replace(address, ''));
    const key = JSON.stringify([name, side, subnet, parsed.family, groups, within]);
    const known = classes.get(key);
    if (known) {
      known.count += 1;
      return;
    }
    const own = { before: before.filter(selects(address)), after: after.filter(selects(address)) };
    const isConcerned = [...own.before, ...own.after].some(({ of }) => changed.has(of));
    classes.set(key, { end, family: parsed.family, isConcerned, ...own, count: 1 });
  };
  for (const end of ends) put(end);
  const concerned = [...classes.values()].filter(({ isConcerned }) => isConcerned);
  const used = new Set(ends.map(({ address }) => address));
  for (const end of endsOutside(concerned, used)) put(end);
  return [...classes.values()];
};

type NamedBlock = Block & { text: string };

const holds = (block: Block, address: Address): boolean =>
  holdsBlock(block, { ...address, length: WIDTH[address.family] });

const rulesOf = ({ enforcement: { ingress = [], egress = [] } }: PolicyEntry): readonly Rule[] => [
  ...ingress,
  ...egress,
];

const blocksIn = (entries: readonly PolicyEntry[]): NamedBlock[] => {
  const texts = entries.flatMap((entry) =>
    rulesOf(entry).flatMap(({ peers = [] }) =>
      peers.flatMap((peer) => ('cidr' in peer ? [peer.cidr, ...peer.except] : [])),
    ),
  );
  return [...new Set(texts)].flatMap((text) => {
    const block = parseBlock(text);
    return block ? [{ ...block, text }] : [];
  });
};

const ROOTS = ['0.0.0.0/0', '::/0'];

/**
 * One address of no pod for each part of the address space of which the policies of these ends say the same: of two blocks one holds the
 * other, or they have nothing in common, so each part has an address at the border of a block.
 */
const endsOutside = (concerned: readonly Class[], used: ReadonlySet<string>): PolicyEnd[] => {
  const families = new Set(concerned.map(({ family }) => family));
  const entries = new Set(concerned.flatMap(({ before, after }) => [...before, ...after]));
  const roots = ROOTS.flatMap((text) => {
    const block = parseBlock(text);
    return block ? [{ ...block, text }] : [];
  });
  const blocks = [...blocksIn([...entries]), ...roots].filter(({ family }) => families.has(family));
  const borders = blocks.flatMap(({ family, bits, length }) => {
    const size = 1n << BigInt(WIDTH[family] - length);
    const end = 1n << BigInt(WIDTH[family]);
    // The address of a network itself is nobody's.
    const inside = size > 2n ? [bits + 1n, bits + size - 1n] : [bits];
    return [...inside, bits - 1n, bits + size]
      .filter((one) => one > 0n && one < end)
      .map((one) => ({ family, bits: one }));
  });
  return borders.flatMap((address): PolicyEnd[] => {
    const text = addressText(address);
    if (used.has(text)) return [];
    const [smallest] = blocks
      .filter((block) => holds(block, address))
      .toSorted((a, b) => b.length - a.length);
    const where = smallest === undefined || smallest.length === 0 ? '' : ` in ${smallest.text}`;
    return [{ name: `addresses of no pod${where}`, address: text, side: EVERYWHERE }];
  });
};

const LAST_PORT = 65_535;
/** Both ends count. */
type Range = { protocol: Protocol; first: number; last: number };

const differencesOf = (from: Class, to: Class, change: PolicyChange): Connection[] => {
  const ways = { before: [...from.before, ...to.before], after: [...from.after, ...to.after] };
  const cut: Range[] = [];
  const opened: Range[] = [];
  for (const range of rangesIn([...ways.before, ...ways.after], change)) {
    const [before, after] = [ways.before, ways.after].map((entries) =>
      isLetPass(from, to, range, { entries, members: change.members }),
    );
    if (before && !after) cut.push(range);
    if (after && !before) opened.push(range);
  }
  const ends = { from: from.end.name, to: to.end.name };
  return [
    ...(cut.length > 0 ? [{ change: 'Cut' as const, ...ends, ports: portTexts(cut) }] : []),
    ...(opened.length > 0
      ? [{ change: 'Opened' as const, ...ends, ports: portTexts(opened) }]
      : []),
  ];
};

const NOBODY: ReadonlySet<string> = new Set();

const isLetPass = (
  from: Class,
  to: Class,
  { protocol, first }: Range,
  { entries, members }: { entries: readonly PolicyEntry[] } & Pick<PolicyChange, 'members'>,
): boolean =>
  decide(
    { from: from.end.address, to: to.end.address, protocol, port: first },
    { entries, members: (group) => members.get(group) ?? NOBODY },
  ).every(passes);

/** Within each no rule of these makes a difference. */
const rangesIn = (entries: readonly PolicyEntry[], { members }: PolicyChange): Range[] => {
  const ports = entries.flatMap((entry) => rulesOf(entry).flatMap((rule) => rule.ports ?? []));
  return PROTOCOLS.flatMap((protocol) => {
    const borders = ports
      .filter((port) => port.protocol === protocol)
      .flatMap((port) => bordersOf(port, members));
    const starts = [...new Set([1, ...borders])]
      .filter((port) => port <= LAST_PORT)
      .sort((a, b) => a - b);
    return starts.map((first, at) => ({
      protocol,
      first,
      last: (starts[at + 1] ?? LAST_PORT + 1) - 1,
    }));
  });
};

const bordersOf = ({ port, endPort, group }: Port, members: PolicyChange['members']): number[] => {
  if (group === undefined) return port === undefined ? [] : [port, (endPort ?? port) + 1];
  return [...(members.get(group) ?? [])].flatMap((member) => {
    const number = Number(member.slice(member.lastIndexOf(' ') + 1));
    return [number, number + 1];
  });
};

const portTexts = (ranges: readonly Range[]): string[] => {
  const joined: Range[] = [];
  for (const range of ranges) {
    const before = joined.at(-1);
    if (before?.protocol === range.protocol && before.last + 1 === range.first)
      before.last = range.last;
    else joined.push({ ...range });
  }
  const whole = joined.filter(({ first, last }) => first === 1 && last === LAST_PORT);
  if (whole.length === PROTOCOLS.length) return ['all'];
  return joined.map(({ protocol, first, last }) => {
    if (first === 1 && last === LAST_PORT) return protocol;
    return first === last ? `${protocol} ${first}` : `${protocol} ${first}-${last}`;
  });
};
