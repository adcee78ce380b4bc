/**
 * Which rules of ours decide before another one for all that it matches. Pure. It is certain where
 * it names any: of two rules of one zone it does not matter what the zone is, so none is looked up,
 * and each zone that is named is taken for a device of its own; nor which policy of mwan3 a rule
 * leads to.
 */
import * as z from 'zod';
import { byPlace } from '#shared/compile/candidates.ts';
import { compileOffline } from '#shared/compile/offline.ts';
import { referencesOf } from '#shared/compile/check.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { firewallDnat } from '#shared/resources/rules/firewall-dnat.ts';
import { firewallForwarding } from '#shared/resources/rules/firewall-forwarding.ts';
import { firewallRule } from '#shared/resources/rules/firewall-rule.ts';
import { firewallZone } from '#shared/resources/rules/firewall-zone.ts';
import { mwan3Policy } from '#shared/resources/rules/mwan3-policy.ts';
import { kindOf } from '#shared/resources/registry.ts';
import { firewallOf } from '#shared/trace/firewall.ts';
import { hidingRulesOf } from '#shared/trace/hidden.ts';
import { uplinksOf } from '#shared/trace/uplinks.ts';
import { uciName } from '#shared/uci/names.ts';
import { filterOf, isFiltering, isKept } from '../sources/kept-rule.ts';

/**
 * The author of a rule waits for it, and so do all other reviews: so much takes about 10 ms
 * (measured). 64 rules as people write them fit, and of longer ones fewer.
 */
const MAX_LOOKED_AT = 64;
const MAX_LENGTH = 6_144;
/** Those that one may hide: each is judged by itself. */
const MAX_BEHIND = 8;
const MAX_LENGTH_BEHIND = 1_024;
const MWAN3 = 'mwan3';
/** The time of a rule that the API server has not stored yet: it comes behind all stored ones. */
const LAST = '9999-12-31T23:59:59Z';

/**
 * Empty where some packet may come to it, or where that takes too long to tell: those are looked at
 * that match most. `others`: of the same CNF; itself may be among them.
 */
export const hidingRulesAmong = (rule: RuleObject, others: readonly RuleObject[]): RuleObject[] => {
  if (!isFiltering(rule.kind)) return [];
  const placed = placedAmong(rule);
  const before = others.flatMap((other) => (isBefore(other, placed) ? withSpec(other) : []));
  const looked = affordable(before.toSorted(bySize));
  return looked.length === 0 ? [] : hidingRulesIn([...looked, placed])(placed);
};

/**
 * To which of the others no packet comes any more once the rule is there, by itself. The nearest
 * are looked at, as those of one file are.
 */
export const hiddenBehind = (rule: RuleObject, others: readonly RuleObject[]): RuleObject[] => {
  const placed = placedAmong(rule);
  const rest = others.flatMap((other) => (isSame(other, rule) ? [] : withSpec(other)));
  const behind = rest.filter((other) => isBefore(placed, other)).toSorted(byPlace);
  const nearest = affordable(behind.slice(0, MAX_BEHIND), MAX_LENGTH_BEHIND);
  if (nearest.length === 0) return [];
  const withIt = hidingRulesIn([placed, ...nearest]);
  const hidden = nearest.filter((other) => {
    const [by, ...more] = withIt(other);
    return by === placed && more.length === 0;
  });
  if (hidden.length === 0) return [];
  const before = rest.filter(
    (other) => !hidden.includes(other) && hidden.some((one) => isBefore(other, one)),
  );
  const without = hidingRulesIn([...hidden, ...affordable(before.toSorted(bySize))]);
  return hidden.filter((other) => without(other).length === 0);
};

const placedAmong = (rule: RuleObject): RuleObject => {
  const { metadata } = rule;
  return {
    ...rule,
    metadata: { ...metadata, creationTimestamp: metadata.creationTimestamp || LAST },
  };
};

const isSame = (one: RuleObject, other: RuleObject): boolean =>
  one.kind === other.kind && one.metadata.name === other.metadata.name;

const isBefore = (other: RuleObject, rule: RuleObject): boolean => {
  if (!isFiltering(other.kind) || isSame(other, rule)) return false;
  if (other.metadata.deletionTimestamp !== undefined) return false;
  if (rule.kind === firewallDnat.kind && !isReflectedAlike(other, rule)) return false;
  if (other.kind === rule.kind) return byPlace(other, rule) < 0;
  // Forwardings come behind all rules, wherever they stand.
  return rule.kind === firewallForwarding.kind && other.kind === firewallRule.kind;
};

/**
 * Where a translation is reflected depends on addresses that are not known here, but alike for new
 * addresses in one zone.
 */
const isReflectedAlike = (other: RuleObject, rule: RuleObject): boolean => {
  const [a, b] = [withSpec(other)[0]?.spec, rule.spec].map(
    (spec) => targetSchema.safeParse(spec).data,
  );
  if (!a?.dest_ip || !b?.dest_ip) return false;
  return a.dest === b.dest && (b.dest !== '' || a.dest_ip === b.dest_ip);
};
const targetSchema = z.object({ dest: z.string().default(''), dest_ip: z.string().default('') });

const withSpec = (rule: RuleObject): RuleObject[] => {
  const spec = isKept(rule) ? rule.filter : filterOf(rule);
  return spec === undefined ? [] : [{ ...rule, spec }];
};

const sizeOf = ({ spec }: RuleObject): number => Object.keys(spec ?? {}).length;
/** What says less matches more. */
const bySize = (a: RuleObject, b: RuleObject): number => sizeOf(a) - sizeOf(b);

/** The first of them. */
const affordable = (rules: readonly RuleObject[], most = MAX_LENGTH): RuleObject[] => {
  let left = most;
  return rules.slice(0, MAX_LOOKED_AT).filter(({ spec }) => {
    left -= JSON.stringify(spec).length;
    return left >= 0;
  });
};

/** For one of these rules: those that decide before it for all that it matches. */
const hidingRulesIn = (rules: readonly RuleObject[]): ((rule: RuleObject) => RuleObject[]) => {
  const named = standInsFor(rules);
  const zones = named.flatMap(({ kind, metadata: { name } }) =>
    kind === firewallZone.kind ? [name] : [],
  );
  const networks = new Map([...zones.map((name) => [name, name] as const), [UPLINK, UPLINK]]);
  const { desired, verdicts } = compileOffline([...named, ...rules], { networks });
  const byName = new Map(
    verdicts.flatMap(({ rule: of, sections }) =>
      sections.map(({ name }): [string, RuleObject] => [name, of]),
    ),
  );
  // Firewall and mwan3 are never looked at together.
  const uciPackage = kindOf(rules[0]?.kind ?? '')?.uci?.package ?? '';
  const sections = desired.get(uciPackage) ?? [];
  const devices = zones.map((name) => [name, { device: name, addresses: [] }] as const);
  const chains =
    uciPackage === MWAN3 ? uplinksOf(sections) : firewallOf(sections, new Map(devices));
  return (rule) => {
    const own = sections.find(({ name }) => byName.get(name) === rule);
    const origins = (own && hidingRulesOf(chains, own)) ?? [];
    return [
      ...new Set(
        origins.flatMap((origin) =>
          origin.of === 'section' ? (byName.get(origin.section.name) ?? []) : [],
        ),
      ),
    ];
  };
};

/**
 * Longer than names of zones, which are those of networks here, and of policies and rules of mwan3,
 * which must not be those of interfaces.
 */
const UPLINK = 'interface_of_all_policies';

/** Zones, each of a network of its own, and policies. */
const standInsFor = (rules: readonly RuleObject[]): RuleObject[] => {
  const references = rules.flatMap(referencesOf);
  return [firewallZone, mwan3Policy].flatMap(({ kind, group, version }) => {
    const names = new Set(
      references.filter((one) => one.kind === kind).map(({ name }) => uciName(name)),
    );
    return [...names].map((name) => ({
      apiVersion: `${group}/${version}`,
      kind,
      metadata: { name, namespace: '', uid: name, resourceVersion: '', creationTimestamp: '' },
      spec:
        kind === firewallZone.kind
          ? { network: [name] }
          : { members: [{ network: UPLINK, metric: 1, weight: 1 }] },
    }));
  });
};
