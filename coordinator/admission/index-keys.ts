/**
 * By which keys the rules are found that a check on one of them has to see: of thousands, the few
 * that share its section on OpenWRT, that it refers to, or that refer to it. Pure; what keeps the
 * rules keeps them by `indexKeysOf`, and finds them by `keysToLookUp`.
 */
import * as z from 'zod';
import { referencesOf } from '#shared/compile/check.ts';
import { keyOf } from '#shared/compile/in-use.ts';
import { shortIn } from '#shared/compile/networks.ts';
import { usesOf as saidInSpec } from '#shared/compile/offline.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { PURPOSE_LABEL } from '#shared/names.ts';
import type { Claim, KindDefinition, Sharing } from '#shared/resources/kind.ts';
import { kindOf } from '#shared/resources/registry.ts';
import { firewallZone } from '#shared/resources/rules/firewall-zone.ts';
import { uciName } from '#shared/uci/names.ts';
import { filterOf, isKept } from '../sources/kept-rule.ts';
import type { RuleChange } from './checks/check.ts';

/** Where the CR lives in OpenWRT, e.g. `mwan3.balance1`. */
export const sectionOf = ({ uci }: KindDefinition, name: string): string | undefined =>
  uci && `${uci.package}.${uci.sectionPrefix}${uciName(name)}`;

type Cnf = Pick<RuleChange, 'namespace' | 'purpose'>;
type Target = { kind: string; name: string };

/** The keys of a rule that stay in memory; none without a purpose. `filter`: its `filterOf`. */
export const indexKeysOf = (rule: RuleObject, filter: unknown): string[] =>
  indexKeysUpTo(MAX_USES, rule, filter);

/** Those of its keys that matter for the change, whatever their number. */
export const indexKeysFor = (rule: RuleObject, change: RuleChange, filter: unknown): string[] => {
  const wanted = new Set(keysToLookUp(change));
  return indexKeysUpTo(Number.POSITIVE_INFINITY, rule, filter).filter((indexKey) =>
    wanted.has(indexKey),
  );
};

const indexKeysUpTo = (most: number, rule: RuleObject, filter: unknown): string[] => {
  const { labels, name, namespace } = rule.metadata;
  const purpose = labels?.[PURPOSE_LABEL] ?? '';
  const kind = kindOf(rule.kind);
  if (purpose === '' || kind === undefined) return [];
  const cnf = { namespace, purpose };
  return [
    named(cnf, { kind: rule.kind, name }),
    ...inSection(cnf, kind, name),
    ...claimsOfRule(rule).map(({ key }) => claiming(cnf, key)),
    ...sharingsOfRule(rule).flatMap((one) => sharing(cnf, one)),
    ...linksOf(rule),
    ...usesOf(rule, cnf, most),
    ...networksOfZone(rule)
      .slice(0, most)
      .map((network) => zoneOn(cnf, network)),
    ...filterKeys(cnf, filter, ({ src, dest }) => [[src, dest]]),
  ];
};

/** Each of them stays in memory, and a spec can have a thousand references. */
const MAX_USES = 32;

const usesOf = (rule: RuleObject, cnf: Cnf, most: number): string[] => {
  const uses = new Set(referencesOf(rule).map((reference) => using(cnf, reference)));
  return uses.size > most ? [usingMany(cnf)] : [...uses];
};

/** The keys of all rules that can matter for the change. */
export const keysToLookUp = (change: RuleChange): string[] => {
  const { after, operation } = change;
  if (operation === 'DELETE' || after === undefined) return keysToConfirm(change);
  return [
    ...keysToConfirm(change),
    ...referencesOf(after).map((reference) => named(change, reference)),
    ...networksOfZone(after).map((network) => zoneOn(change, network)),
    ...sharingsOfRule(after).flatMap((one) => sharing(change, one)),
  ];
};

/** The keys of those whose being there is a reason to deny it. */
export const keysToConfirm = (change: RuleChange): string[] => {
  const { after, kind, name, operation } = change;
  if (operation === 'DELETE' || after === undefined)
    return [using(change, { kind: kind.kind, name }), usingMany(change)];
  return [
    ...(operation === 'CREATE' ? inSection(change, kind, name) : []),
    ...claimsOfRule(after).map(({ key }) => claiming(change, key)),
  ];
};

/** The keys of rules that may decide before it for its packets; none of what decides for none. */
export const filtersToLookUp = ({ after, ...cnf }: RuleChange): string[] =>
  after === undefined ? [] : filterKeys(cnf, filterOf(after), sidesAround);

const filterSpec = z.looseObject({ src: z.string().default(''), dest: z.string().default('') });
type Sides = { src: string; dest: string };

/** By the zones of what a rule filters, and whether it is for the CNF's own packets. */
const filterKeys = (
  { namespace, purpose }: Cnf,
  filter: unknown,
  sidesOf: (sides: Sides) => readonly (readonly [string, string])[],
): string[] => {
  const { data } = filterSpec.safeParse(filter);
  const sides = data && sidesOf({ src: sideOf(data.src), dest: sideOf(data.dest) });
  return (sides ?? []).map(([src, dest]) => `${namespace}/${purpose}/filters/${src}/${dest}`);
};

const ANY = '*';
const sideOf = (zone: string): string => (zone === ANY ? ANY : uciName(zone));
/** The sides of all rules that may decide for packets between the same zones. */
const sidesAround = ({ src, dest }: Sides): (readonly [string, string])[] =>
  around(src).flatMap((from) => around(dest).map((to) => [from, to] as const));
const around = (side: string): string[] => (side === '' || side === ANY ? [side] : [side, ANY]);

/** What the rule alone may have in its CNF; none of what has not its form. */
export const claimsOfRule = (rule: RuleObject): readonly Claim[] =>
  saidBy(rule, (kind, spec) => kind.claims?.(spec));

/** Where other rules of its CNF should say the same; none of what has not its form. */
export const sharingsOfRule = (rule: RuleObject): readonly Sharing[] =>
  saidBy(rule, (kind, spec) => kind.shares?.(spec));

/** Specs of kinds that say neither are not checked for it: each rule that is kept comes here. */
const saidBy: typeof saidInSpec = (rule, read) => {
  const kind = kindOf(rule.kind);
  return (kind?.claims ?? kind?.shares) === undefined ? [] : saidInSpec(rule, read);
};

/**
 * The first of the claims that one of the rules has, too. `indexKeyOf`: the key by which it is
 * known of what stays in memory of a rule.
 */
export const heldBy = (
  rules: readonly RuleObject[],
  claims: readonly Claim[],
  indexKeyOf: (key: string) => string,
): { path: string; key: string; other: RuleObject } | undefined => {
  for (const { path, key } of claims) {
    const indexKey = indexKeyOf(key);
    const other = rules.find((rule) =>
      isKept(rule)
        ? rule.indexKeys.includes(indexKey)
        : claimsOfRule(rule).some((claim) => claim.key === key),
    );
    if (other) return { path, key, other };
  }
  return undefined;
};

export const claiming = ({ namespace, purpose }: Cnf, key: string): string =>
  `${namespace}/${purpose}/has/${key}`;

/** That it has some value for the key, and that it has this one. */
export const sharing = (
  { namespace, purpose }: Cnf,
  { key, value }: Pick<Sharing, 'key' | 'value'>,
): readonly [any: string, same: string] => [
  `${namespace}/${purpose}/shares/${key}`,
  `${namespace}/${purpose}/shares-value/${value}/${key}`,
];

/** The keys of rules of all CNFs of the namespace that have the same of a link. */
export const linksToLookUp = ({ after }: Pick<RuleChange, 'after'>): string[] =>
  after === undefined ? [] : linksOf(after);

const linksOf = (rule: RuleObject): string[] =>
  claimsOfRule(rule).flatMap(({ key, onLink }) => (onLink ? [onLinkOf(rule.metadata, key)] : []));

// No purpose is empty.
export const onLinkOf = ({ namespace }: Pick<Cnf, 'namespace'>, key: string): string =>
  `${namespace}//on-link/${key}`;

const zoneSpec = z.looseObject({ network: z.array(z.string()) });

/** Networks of a FirewallZone as its namespace calls them; none when it has not its form. */
export const networksOfZone = (rule: RuleObject): readonly string[] => {
  if (rule.kind !== firewallZone.kind) return [];
  const { data } = zoneSpec.safeParse(rule.spec);
  return (data?.network ?? []).map((name) => shortIn(rule.metadata.namespace, name));
};

export const zoneOn = ({ namespace, purpose }: Cnf, network: string): string =>
  `${namespace}/${purpose}/zone-on/${network}`;

// Neither namespaces nor purposes have a slash.
const named = ({ namespace, purpose }: Cnf, { kind, name }: Target): string =>
  `${namespace}/${purpose}/is/${keyOf(kind, name)}`;

const using = ({ namespace, purpose }: Cnf, { kind, name }: Target): string =>
  `${namespace}/${purpose}/uses/${keyOf(kind, name)}`;

/** The key of rules that refer to so many others that they are looked at for each of them. */
const usingMany = ({ namespace, purpose }: Cnf): string => `${namespace}/${purpose}/uses-many`;

const inSection = ({ namespace, purpose }: Cnf, kind: KindDefinition, name: string): string[] => {
  const section = sectionOf(kind, name);
  return section === undefined ? [] : [`${namespace}/${purpose}/section/${section}`];
};
