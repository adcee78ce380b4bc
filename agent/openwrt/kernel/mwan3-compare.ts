/**
 * Whether the kernel has what package mwan3 asks for: each rule in its place, for each family of
 * addresses that it is for, and each policy with the members that mwan3 calls online, so that an
 * uplink that goes down takes nothing out of force. What there should be is made of the package as
 * mwan3 makes it (mwan3.sh of 2.11 to 2.12, and of its successor 3 for nft). Pure. Which program
 * prints the chains only its reader knows (`mwan3-iptables.ts`, `mwan3-nft.ts`).
 */
import type { UciSection } from '#shared/uci/model.ts';
import { keyOf, networkOf, portsOf, protocolOf } from './mwan3-match.ts';
import { compareSections, type Compared } from './sections.ts';

export const MWAN3_FAMILIES = ['ipv4', 'ipv6'] as const;
export type Mwan3Family = (typeof MWAN3_FAMILIES)[number];

export type LoadedPolicy = {
  /** Interface -> weight, which one alone need not have. */
  members: ReadonlyMap<string, number | undefined>;
  lastResort: string | undefined;
  /** Why the reader does not know what it does. */
  unread?: string;
};

/** What is loaded for the packets of one family. */
export type LoadedFamily = {
  /** `keyOf` each rule in order; one that the reader does not understand is in words of its own. */
  rules: readonly string[];
  policies: ReadonlyMap<string, LoadedPolicy>;
  /** Why there may be more rules than the reader knows. */
  unread?: string;
  /** For IPv6, rules without an address come before those with one. */
  generalFirst?: boolean;
  /** mwan3 loads all rules or none: why it is none, and for which rule, by its key or its name. */
  refused?: { words: string; key?: string; name?: string };
};

export type Mwan3Loaded = {
  /** Interfaces. */
  online: ReadonlySet<string>;
  /** Those that this OpenWRT has. */
  families: ReadonlyMap<Mwan3Family, LoadedFamily>;
};

/**
 * `refused`: section -> why mwan3 does not take it, or none because of it. No repair brings it, and
 * as long as it is there none may come.
 */
export type Mwan3Compared = Compared & { refused: ReadonlyMap<string, string> };

/** `read` gives undefined where no reader knows this mwan3; then nothing can be told. */
export const compareMwan3 = (
  sections: readonly UciSection[],
  read: () => Mwan3Loaded | undefined,
): Mwan3Compared => {
  const refused = new Map<string, string>();
  const compared = compareSections(sections, () => {
    const loaded = read();
    if (loaded === undefined) throw new Error('the agent does not know this mwan3');
    const rules = sections.filter(({ type }) => type === 'rule');
    const chains = [...loaded.families].map(([family, there]) =>
      compareChain(rules, family, there),
    );
    for (const { culprits, words } of chains.toReversed())
      for (const name of culprits)
        refused.set(name, `${words}, and mwan3 then puts none of its rules into the kernel`);
    for (const rule of rules) {
      const why = whyLeftOut(rule, [...loaded.families.keys()]);
      if (why !== undefined) refused.set(rule.name, why);
    }
    const named = new Map(sections.map((section) => [section.name, section]));
    return (section) => {
      const why = refused.get(section.name);
      if (why !== undefined) throw new Error(why);
      const lacks =
        section.type === 'rule'
          ? chains.map(({ lackOf }) => lackOf(section))
          : [...loaded.families].map(([family, { policies }]) =>
              lackOfPolicy({ policy: section, named, family, online: loaded.online }, policies),
            );
      return lacks.find((lack) => lack !== undefined);
    };
  });
  return { ...compared, refused };
};

const WORDED: Readonly<Record<Mwan3Family, string>> = { ipv4: 'IPv4', ipv6: 'IPv6' };

type Chain = {
  /** Sections because of which no rule is loaded. */
  culprits: readonly string[];
  words: string;
  /** @throws Error where that cannot be told, or no repair would bring it */
  lackOf: (rule: UciSection) => string | undefined;
};

const compareChain = (
  rules: readonly UciSection[],
  family: Mwan3Family,
  { rules: there, refused, unread, generalFirst = false }: LoadedFamily,
): Chain => {
  const asked = rules.filter((rule) => whyUnknown(rule) === undefined && isFor(rule, family));
  const isLater = (rule: UciSection): boolean =>
    generalFirst && family === 'ipv6' && !isGeneral(rule);
  const wanted = [...asked.filter((rule) => !isLater(rule)), ...asked.filter(isLater)];
  const keys = wanted.map(wantedKey);
  const culprits = wanted.flatMap(({ name }, at) =>
    refused !== undefined && (name === refused.name || keys[at] === refused.key) ? [name] : [],
  );
  // The same key twice is two rules, the first of which is the first.
  const found = Map.groupBy(there.keys(), (at) => there[at]);
  const places = keys.map((key) => found.get(key)?.shift());
  return {
    culprits,
    words: refused?.words ?? '',
    lackOf: (rule) => {
      const unknown = whyUnknown(rule);
      if (unknown !== undefined) throw new Error(unknown);
      const at = wanted.indexOf(rule);
      if (at === -1) return undefined;
      const place = places[at];
      const chain = `mwan3's chain mwan3_rules for ${WORDED[family]}`;
      if (place === undefined) {
        if (unread !== undefined) throw new Error(`the agent cannot read ${chain}: ${unread}`);
        const none = refused && `mwan3 puts in none of its rules`;
        if (none !== undefined && culprits.length > 0)
          throw new Error(`${none} because of section ${culprits[0]}: ${refused?.words}`);
        return `its rule in ${chain}${none === undefined ? '' : `: ${none}: ${refused?.words}`}`;
      }
      const isMoved = places.some(
        (other = place, n) => other !== place && n < at !== other < place,
      );
      return isMoved ? `its place in ${chain}` : undefined;
    },
  };
};

const textOf = ({ options }: UciSection, option: string): string => {
  const value = options[option];
  return typeof value === 'string' ? value : '';
};

/** In mwan3's own words. What it says of one family is no fault in a rule for the other. */
const whyLeftOut = (rule: UciSection, families: readonly Mwan3Family[]): string | undefined => {
  if (whyUnknown(rule) !== undefined) return undefined;
  if (families.some((family) => isFor(rule, family))) return undefined;
  if (MWAN3_FAMILIES.some((family) => isFor(rule, family))) return 'this OpenWRT has no ip6tables';
  const family = MWAN3_FAMILIES.find((each) => isOfFamily(rule, each)) ?? 'ipv4';
  const wrong = addressesOf(rule).find((address) => !fits(address, family));
  return `invalid ${family} address ${wrong} specified for rule ${rule.name}`;
};

const isFor = (rule: UciSection, family: Mwan3Family): boolean =>
  isOfFamily(rule, family) && addressesOf(rule).every((address) => fits(address, family));

const isOfFamily = (rule: UciSection, family: Mwan3Family): boolean => {
  const asked = textOf(rule, 'family');
  return !MWAN3_FAMILIES.some((each) => each === asked) || asked === family;
};

/** One rule of nft's is for both families. */
const isGeneral = (rule: UciSection): boolean =>
  isFor(rule, 'ipv4') && addressesOf(rule).length === 0 && textOf(rule, 'proto') !== 'icmp';

const addressesOf = (rule: UciSection): readonly string[] =>
  ['src_ip', 'dest_ip'].map((option) => textOf(rule, option)).filter((text) => text !== '');

/** As mwan3's expressions have it: IPv4 inside of IPv6 is taken for both, and so fits none. */
const fits = (address: string, family: Mwan3Family): boolean =>
  family === 'ipv4' ? !address.includes(':') : !/(?:\d{1,3}\.){3}\d/.test(address);

const COMPARED = ['src_ip', 'dest_ip', 'src_port', 'dest_port', 'proto', 'family', 'sticky'];

/** Why it cannot be told what mwan3 makes of a rule, which none of ours is like. */
const whyUnknown = (rule: UciSection): string | undefined => {
  const { options } = rule;
  const list = ['use_policy', ...COMPARED].find((option) => Array.isArray(options[option]));
  if (list !== undefined) return `option ${list} is a list`;
  if (options['src_iface'] !== undefined || options['ipset'] !== undefined)
    return 'it asks for a device or a set';
  if (textOf(rule, 'use_policy') === '') return 'it has no policy';
  return undefined;
};

const wantedKey = (rule: UciSection): string => {
  const option = (name: string): string => textOf(rule, name);
  const hasPorts = ['tcp', 'udp'].includes(option('proto'));
  const [policy, sticky] = [option('use_policy'), option('sticky')];
  const isBuiltIn = ['default', 'unreachable', 'blackhole'].includes(policy);
  return keyOf({
    protocol: protocolOf(option('proto')),
    source: networkOf(option('src_ip')),
    destination: networkOf(option('dest_ip')),
    sourcePorts: hasPorts ? portsOf(option('src_port')) : '',
    destinationPorts: hasPorts ? portsOf(option('dest_port')) : '',
    target: isBuiltIn
      ? { builtIn: policy }
      : { policy, ...(Number(sticky) === 1 && { stickyAs: rule.name }) },
  });
};

/** mwan3's `DEFAULT_LOWEST_METRIC`. */
const MAX_METRIC = 256;

type Asked = {
  policy: UciSection;
  named: ReadonlyMap<string, UciSection>;
  family: Mwan3Family;
  online: ReadonlySet<string>;
};

const lackOfPolicy = (
  asked: Asked,
  policies: ReadonlyMap<string, LoadedPolicy>,
): string | undefined => {
  const { policy, family } = asked;
  if (policy.type !== 'policy') return undefined;
  const chain = `mwan3's chain mwan3_policy_${policy.name} for ${WORDED[family]}`;
  const there = policies.get(policy.name);
  if (there === undefined) return chain;
  if (there.unread !== undefined)
    throw new Error(`the agent cannot read ${chain}: ${there.unread}`);
  const wanted = wantedMembers(asked);
  if (wanted.size === 0) {
    const lastResort = textOf(policy, 'last_resort') || 'unreachable';
    const isLast = ['blackhole', 'default'].includes(lastResort) ? lastResort : 'unreachable';
    const isThere = there.members.size === 0 && there.lastResort === isLast;
    return isThere ? undefined : `${isLast} in ${chain}, since no member is online`;
  }
  const wrong = [...wanted].find(
    ([name, weight]) => !there.members.has(name) || (there.members.get(name) ?? weight) !== weight,
  );
  if (wrong !== undefined) return `member ${wrong[0]} with weight ${wrong[1]} in ${chain}`;
  const more = [...there.members.keys()].find((name) => !wanted.has(name));
  return more === undefined ? undefined : `${chain} without ${more}`;
};

/** Those of the least metric among members that are online. */
const wantedMembers = ({ policy, named, family, online }: Asked): ReadonlyMap<string, number> => {
  const used = policy.options['use_member'] ?? [];
  const members = (typeof used === 'string' ? used.split(/\s+/) : used).flatMap((name) => {
    const member = named.get(name);
    const network = member === undefined ? '' : textOf(member, 'interface');
    const uplink = named.get(network);
    if (member?.type !== 'member' || uplink?.type !== 'interface') return [];
    const isOurs = (textOf(uplink, 'family') || 'ipv4') === family && online.has(network);
    const [metric, weight] = ['metric', 'weight'].map((option) =>
      Number(textOf(member, option) || 1),
    );
    return isOurs ? [{ network, metric: metric ?? 1, weight: weight ?? 1 }] : [];
  });
  const least = Math.min(MAX_METRIC, ...members.map(({ metric }) => metric));
  return new Map(
    members.flatMap(({ network, metric, weight }) => (metric === least ? [[network, weight]] : [])),
  );
};
