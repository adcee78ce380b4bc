/**
 * What verb `mwan3` of the helper prints of a mwan3 that uses nft itself (3.x; its chains are in
 * its own table, in older ones in fw4's): one chain of rules for both families of addresses, and
 * marks in place of names. The reader says which line it does not understand. Pure and total.
 */
import {
  ANY,
  builtInOf,
  chainTarget,
  keyOf,
  networkOf,
  portsOf,
  protocolOf,
  type Mwan3Match,
} from './mwan3-match.ts';
import {
  MWAN3_FAMILIES,
  type LoadedFamily,
  type LoadedPolicy,
  type Mwan3Family,
} from './mwan3-compare.ts';

type Lines = readonly string[];
type Draft = Omit<Mwan3Match, 'target'> & { family?: Mwan3Family; mask: number };

export const readNft = (lines: Lines): ReadonlyMap<Mwan3Family, LoadedFamily> => {
  const chains = chainsIn(lines);
  const uplinks = uplinksIn(chains);
  const { rules, ...unread } = rulesIn(chains);
  return new Map(
    MWAN3_FAMILIES.map((family) => [
      family,
      {
        ...unread,
        rules: rules.flatMap(({ key, family: its = family }) => (its === family ? [key] : [])),
        policies: new Map(
          [...chains].flatMap(([chain, body]): [string, LoadedPolicy][] => {
            const [, name] = /^mwan3_policy_(\S+)$/.exec(chain) ?? [];
            return name === undefined ? [] : [[name, policyIn(body, family, uplinks)]];
          }),
        ),
        generalFirst: true,
      },
    ]),
  );
};

const chainsIn = (lines: Lines): ReadonlyMap<string, Lines> => {
  const chains = new Map<string, string[]>();
  let body: string[] = [];
  for (const line of lines.map((each) => each.trim())) {
    const [, chain] = /^chain (\S+) \{$/.exec(line) ?? [];
    if (chain !== undefined) chains.set(chain, (body = []));
    else if (line !== '}' && line !== '') body.push(line);
  }
  return chains;
};

const UNMARKED = String.raw`meta mark & (0x[0-9a-f]+) == 0x0+ `;
/** nft leaves out of the mask what the value has. */
const SET_MARK = /^meta mark set meta mark (?:& 0x[0-9a-f]+ )?\| (0x[0-9a-f]+)$/;

/** Mark -> the uplink whose packets get it, and their family. */
type Uplinks = ReadonlyMap<number, { name: string; family: string | undefined }>;
const UPLINK = new RegExp(
  `^iifname \\S+ (?:meta nfproto (\\S+) )?${UNMARKED}(meta mark set .*)$`,
  'u',
);
const uplinksIn = (chains: ReadonlyMap<string, Lines>): Uplinks =>
  new Map(
    [...chains].flatMap(([chain, body]) => {
      const [, name] = /^mwan3_iface_in_(\S+)$/.exec(chain) ?? [];
      const [, family, , set = ''] = UPLINK.exec(body.at(-1) ?? '') ?? [];
      const [, mark] = SET_MARK.exec(set) ?? [];
      return name === undefined || mark === undefined ? [] : [[Number(mark), { name, family }]];
    }),
  );

type Rule = { key: string; family: Mwan3Family | undefined };

const rulesIn = (
  chains: ReadonlyMap<string, Lines>,
): { rules: readonly Rule[]; unread?: string } => {
  const rules = (chains.get('mwan3_rules') ?? []).filter((line) => !OTHERS.test(line));
  const hook = chains.get('mwan3_prerouting');
  if (hook === undefined && rules.length > 0)
    return { rules: [], unread: 'no chain mwan3_prerouting leads to its rules' };
  if (hook?.some((line) => line.endsWith(' jump mwan3_rules')) !== true) return { rules: [] };
  const read = rules.map((line) => ({ line, rule: ruleIn(line, chains) }));
  return {
    rules: read.flatMap(({ rule }) => rule ?? []),
    ...unreadBy(read.find(({ rule }) => rule === undefined)?.line),
  };
};

const unreadBy = (line: string | undefined): { unread?: string } =>
  line === undefined ? {} : { unread: `it does not understand ${line}` };

/** What logs, and what asks for a device, a set or a mark, is of no rule that is compared. */
const OTHERS = / log prefix |iifname|addr @|meta mark & 0x[0-9a-f]+ == 0x0*[1-9a-f]/;

/** What a rule begins with, each once at most. */
const PARTS: readonly [RegExp, (draft: Draft, words: readonly string[]) => Draft][] = [
  [/^meta nfproto (ipv[46]) /, (draft, [family = '']) => ofFamily(draft, family)],
  [
    /^meta l4proto (\S+) /,
    (draft, [protocol = '']) => {
      const number = protocolOf(protocol);
      // It makes rules for ICMP of each family; mwan3 2.x makes those of IPv4 for both.
      if (number === '58') return { ...ofFamily(draft, 'ipv6'), protocol: '1' };
      return { ...(number === '1' ? ofFamily(draft, 'ipv4') : draft), protocol: number };
    },
  ],
  [
    /^(ip6?) (saddr|daddr) (\S+) /,
    (draft, [ip, end, network = '']) => ({
      ...ofFamily(draft, ip === 'ip' ? 'ipv4' : 'ipv6'),
      [end === 'saddr' ? 'source' : 'destination']: networkOf(network),
    }),
  ],
  [
    /^(tcp|udp|th) (sport|dport) (?:\{ ([^}]*) \}|(\S+)) /,
    (draft, [protocol = '', end, some, one = '']) => ({
      ...draft,
      ...(protocol !== 'th' && { protocol: protocolOf(protocol) }),
      [end === 'sport' ? 'sourcePorts' : 'destinationPorts']: portsOf(
        (some ?? one).replaceAll('-', ':'),
      ),
    }),
  ],
  [new RegExp(`^${UNMARKED}`, 'u'), (draft, [mask]) => ({ ...draft, mask: Number(mask) })],
];

const ofFamily = (draft: Draft, family: string): Draft => ({
  ...draft,
  family: family === 'ipv4' ? 'ipv4' : 'ipv6',
});

const ruleIn = (line: string, chains: ReadonlyMap<string, Lines>): Rule | undefined => {
  let rest = line;
  let draft: Draft = { ...ANY, mask: 0 };
  for (;;) {
    const next = PARTS.map(([part, read]) => ({ read, found: part.exec(rest) })).find(
      ({ found }) => found !== null,
    );
    if (!next?.found) break;
    draft = next.read(draft, next.found.slice(1));
    rest = rest.slice(next.found[0].length);
  }
  const target = targetOf(rest, draft.mask, chains);
  const { family, mask: _, ...match } = draft;
  return target && { key: keyOf({ ...match, target }), family };
};

const targetOf = (
  verdict: string,
  mask: number,
  chains: ReadonlyMap<string, Lines>,
): Mwan3Match['target'] | undefined => {
  const [, mark] = SET_MARK.exec(verdict) ?? [];
  if (mark !== undefined) return builtInOf(Number(mark), mask);
  const [, chain = ''] = /^jump (\S+)$/.exec(verdict) ?? [];
  return chainTarget(chain, (rule) =>
    (chains.get(`mwan3_rule_${rule}`) ?? [])
      .map((line) => / jump mwan3_policy_(\S+)$/.exec(line)?.[1])
      .find((policy) => policy !== undefined),
  );
};

const POLICY_RULE = new RegExp(`^(?:meta nfproto (\\S+) )?${UNMARKED}(.*)$`, 'u');
/** In turn, by weight: `numgen inc mod 4 vmap { 0-2 : jump mwan3_or_meta_0x100, 3 : … }`. */
const BY_WEIGHT = /numgen (?:inc|random) mod \d+ v?map \{ ([^{}]*) \}$/;
const SHARE = /^(\d+)(?:-(\d+))? : (?:jump mwan3_or_meta_)?(0x[0-9a-f]+)$/;

const policyIn = (body: Lines, family: Mwan3Family, uplinks: Uplinks): LoadedPolicy => {
  // What leaves by the device of an uplink that is offline is let through.
  const read = body
    .filter((line) => !line.startsWith('oifname '))
    .map((line) => {
      const [, its = family, mask, set = ''] = POLICY_RULE.exec(line) ?? [];
      return { line, its, mask: Number(mask), shares: sharesIn(set) };
    });
  const members = new Map<string, number | undefined>();
  let lastResort: string | undefined;
  for (const { mask, shares = [] } of read.filter(({ its }) => its === family))
    for (const [mark, weight] of shares) {
      const builtIn = weight === undefined ? builtInOf(mark, mask)?.builtIn : undefined;
      lastResort = builtIn ?? lastResort;
      const name = builtIn === undefined && memberBy(mark, family, uplinks);
      if (name) members.set(name, sumOf(members.get(name), weight));
    }
  return {
    members,
    lastResort,
    ...unreadBy(read.find(({ shares }) => shares === undefined)?.line),
  };
};

const sumOf = (sum = 0, weight?: number): number | undefined => weight && sum + weight;

const memberBy = (mark: number, family: Mwan3Family, uplinks: Uplinks): string | undefined => {
  const uplink = uplinks.get(mark);
  if (uplink === undefined) return `mark 0x${mark.toString(16)}`;
  return (uplink.family ?? family) === family ? uplink.name : undefined;
};

type Share = readonly [mark: number, weight?: number];
/** One alone has no weight. */
const sharesIn = (set: string): readonly Share[] | undefined => {
  const [, alone] = SET_MARK.exec(set) ?? [];
  if (alone !== undefined) return [[Number(alone)]];
  const shares = BY_WEIGHT.exec(set)?.[1]?.split(', ');
  const marks = shares?.flatMap((share): [number, number][] => {
    const [, from, to = from, mark] = SHARE.exec(share) ?? [];
    return mark === undefined ? [] : [[Number(mark), Number(to) - Number(from) + 1]];
  });
  return marks?.length === shares?.length ? marks : undefined;
};
