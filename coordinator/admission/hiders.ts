/**
 * Which rules of ours decide before another one for all that it matches. Pure. It is certain where it names any: of two rules of one zone it does not matter what
 * the zone is, so none is looked up, and each zone that is named is taken for a device of its own.
 */
import { byPlace } from '#shared/compile/compile.ts';
import { compileOffline } from '#shared/compile/offline.ts';
import { referencesOf } from '#shared/compile/check.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { firewallForwarding } from '#shared/resources/rules/firewall-forwarding.ts';
import { firewallZone } from '#shared/resources/rules/firewall-zone.ts';
import { firewallOf } from '#shared/trace/firewall.ts';
import { hidersOf } from '#shared/trace/hidden.ts';
import { uciName } from '#shared/uci/names.ts';
import { filterOf, isFiltering, isKept } from '../memory/kept-rule.ts';

/** Whoever applies a rule waits for it: with this many it takes about 5 ms (measured), and those are taken that match most. */
const MAX_LOOKED_AT = 64;
const PACKAGE = 'firewall';
/** Of a rule that the API server has not stored yet: it comes behind all that it has. */
const LAST = '9999-12-31T23:59:59Z';

/** Empty where some packet may come to it, or where that takes too long to tell. `others`: of the same CNF; itself may be among them. */
export const hidersAmong = (rule: RuleObject, others: readonly RuleObject[]): RuleObject[] => {
  if (!isFiltering(rule.kind)) return [];
  const { creationTimestamp } = rule.metadata;
  const placed = {
    ...rule,
    metadata: { ...rule.metadata, creationTimestamp: creationTimestamp || LAST },
  };
  const before = others.flatMap((other) => (isBefore(other, placed) ? withSpec(other) : []));
  const looked = before.toSorted((a, b) => sizeOf(a) - sizeOf(b)).slice(0, MAX_LOOKED_AT);
  return looked.length === 0 ? [] : hidersIn(placed, looked);
};

const isBefore = (other: RuleObject, rule: RuleObject): boolean => {
  const isSame = other.kind === rule.kind && other.metadata.name === rule.metadata.name;
  if (!isFiltering(other.kind) || isSame || other.metadata.deletionTimestamp !== undefined)
    return false;
  // Forwardings come behind all rules, wherever they stand.
  return other.kind === rule.kind
    ? byPlace(other, rule) < 0
    : rule.kind === firewallForwarding.kind;
};

const withSpec = (rule: RuleObject): RuleObject[] => {
  const spec = isKept(rule) ? rule.filter : filterOf(rule);
  return spec === undefined ? [] : [{ ...rule, spec }];
};

const sizeOf = ({ spec }: RuleObject): number => Object.keys(spec ?? {}).length;

const hidersIn = (rule: RuleObject, before: readonly RuleObject[]): RuleObject[] => {
  const rules = [...before, rule];
  const zones = zonesFor(rules);
  const networks = new Map(zones.map(({ metadata: { name } }): [string, string] => [name, name]));
  const { desired, verdicts } = compileOffline([...zones, ...rules], networks);
  const byName = new Map(
    verdicts.flatMap(({ rule: of, sections }) =>
      sections.map(({ name }): [string, RuleObject] => [name, of]),
    ),
  );
  const sections = desired.get(PACKAGE) ?? [];
  const own = sections.find(({ name }) => byName.get(name) === rule);
  if (!own) return [];
  const devices = zones.map(
    ({ metadata: { name } }) => [name, { device: name, addresses: [] }] as const,
  );
  return (hidersOf(firewallOf(sections, new Map(devices)), own) ?? []).flatMap((origin) =>
    origin.of === 'section' ? (byName.get(origin.section.name) ?? []) : [],
  );
};

const zonesFor = (rules: readonly RuleObject[]): RuleObject[] => {
  const names = new Set(rules.flatMap(referencesOf).map(({ name }) => uciName(name)));
  return [...names].map((name) => ({
    apiVersion: `${firewallZone.group}/${firewallZone.version}`,
    kind: firewallZone.kind,
    metadata: { name, namespace: '', uid: name, resourceVersion: '', creationTimestamp: '' },
    spec: { network: [name] },
  }));
};
