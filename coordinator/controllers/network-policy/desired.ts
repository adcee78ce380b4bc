/**
 * What one CNF is to enforce: the policies that hold there, the groups that they are about, and
 * which of them cannot be carried. Pure.
 */
import { createAllowance, TOO_MUCH } from '#shared/policy/allowance.ts';
import {
  crowdedText,
  MAX_GROUP_MEMBERS,
  MAX_RULES,
  MAX_SELECTORS,
  tooLargeText,
} from '#shared/policy/bounds.ts';
import { compilePolicy, typesOf, weightOf, type Enforcement } from '#shared/policy/enforcement.ts';
import type { Group } from '#shared/policy/group-members.ts';
import type { Policy } from '#shared/policy/network-policy.ts';
import { CLUSTER_SCOPE, placeName, type Scope } from '#shared/policy/networks.ts';
import { writtenOf } from '#shared/resources/enforcement-lines.ts';
import type {
  PolicyEnforcementSpec,
  Refusal,
} from '#shared/resources/other-kinds/policy-enforcement.ts';
import { inTurns } from '#shared/util/in-turns.ts';
import { oncePerObject } from '#shared/util/memo.ts';
import type { LiveGroups } from './live-groups.ts';
import { groupsOf } from './objects.ts';
import { scopeOf, type Gateway } from './enforcing-cnfs.ts';
import type { AnyPolicy } from './kept.ts';

/**
 * A policy at one CNF: what of it is written, which may be no more than whom it isolates, and the
 * groups that it is about.
 */
export type Compiled =
  | { spec: PolicyEnforcementSpec; groups: ReadonlyMap<string, Group>; scope: Scope }
  /** What would be written of it if nothing ever was. */
  | { spec: PolicyEnforcementSpec; refused: Refusal };

export type AskedPolicies = {
  /** By the policy's uid. */
  enforcements: ReadonlyMap<string, PolicyEnforcementSpec>;
  /** Members of the groups that policies are about, by id; none that is too large to be carried. */
  groups: ReadonlyMap<string, readonly string[]>;
  /** Policies that are not among them: each as one that enforces nothing, and says why. By uid. */
  refused: ReadonlyMap<string, PolicyEnforcementSpec>;
  /** Policies of which a namespace brings more than its share into a group: in words, by uid. */
  crowded: ReadonlyMap<string, string>;
};

/**
 * By uid; those that do not hold there are left out. Those that come first have the selectors of
 * their namespace first.
 */
export const compiledAt = (
  gateway: Gateway,
  policies: readonly AnyPolicy[],
): ReadonlyMap<string, Compiled> => {
  const selectors = new Map<string, Set<string>>();
  const isTaken = createAllowance(() => 0);
  return new Map(
    inTurns(policies, ({ namespace }) => namespace).flatMap((policy) => {
      const used = selectors.getOrInsertComputed(policy.namespace, () => new Set());
      const compiled = compiledOne(gateway, policy, { used, isTaken });
      return compiled ? [[policy.uid, compiled] as const] : [];
    }),
  );
};

/** Compiled once for each version of a policy: a thousand blocks take 20 ms. */
const compiledIn = oncePerObject((policy: Policy) => {
  const byScope = new Map<string, ReturnType<typeof compilePolicy>>();
  return (scope: Scope) =>
    byScope.getOrInsertComputed(JSON.stringify(scope), () => compilePolicy(policy, scope));
});

/**
 * `used`: groups of its namespace's policies before it; its own are added. `isTaken`: whether an
 * agent has room for its lines beside those before it; of one that has none no line is compiled.
 */
const compiledOne = (
  gateway: Gateway,
  policy: AnyPolicy,
  { used, isTaken }: { used: Set<string>; isTaken: ReturnType<typeof createAllowance> },
): Compiled | undefined => {
  const at = scopeOf(policy, gateway);
  if (at === undefined) return undefined;
  const refuse = (reason: Refusal['reason'], text: string): Compiled => {
    const refused = { reason, message: text.slice(0, MAX_MESSAGE) };
    return { spec: refusedSpec(policy, gateway, refused), refused };
  };
  if ('unknown' in at) return refuse('SubnetUnknown', unknownText(at.unknown));
  if ('unread' in policy) return refuse(policy.unread.reason, policy.unread.message);
  const weight = weightOf(policy);
  const place = { scope: at.scope, used };
  return weight > MAX_RULES || isTaken(policy.namespace, weight, [])
    ? carriedOne(policy, place, refuse)
    : isolatingOne(policy, place);
};

type Place = { scope: Scope; used: Set<string> };

const isolatingOne = (policy: Policy, place: Place): Compiled => {
  const { enforcement, groups } = isolating(policy, place);
  noteUsed(place, groups);
  const { scope } = place;
  const identity = { policy: identityOf(policy), place: placeName(scope) };
  return {
    spec: isolatingAlone({ ...identity, ...writtenOf(enforcement) }, TOO_MUCH),
    groups,
    scope,
  };
};

/** The selector of all pods of the namespace comes beside them. */
const noteUsed = ({ used }: Place, groups: ReadonlyMap<string, Group>): void => {
  for (const id of groups.keys()) if (used.size < MAX_SELECTORS) used.add(id);
};

const carriedOne = (
  policy: Policy,
  place: Place,
  refuse: (reason: Refusal['reason'], text: string) => Compiled,
): Compiled => {
  const { scope, used } = place;
  const compiled = compiledIn(policy)(scope);
  if ('invalid' in compiled)
    return refuse('InvalidSpec', `${compiled.invalid.path}: ${compiled.invalid.message}`);
  if ('tooLarge' in compiled) return refuse('TooLarge', tooLargeText(compiled.tooLarge));
  const has = used.union(new Set(compiled.groups.keys())).size;
  const { enforcement, groups, whom } =
    has <= MAX_SELECTORS ? { ...compiled, whom: undefined } : isolating(policy, place);
  noteUsed(place, groups);
  const { generation, namespace } = policy;
  const message = `the policies of namespace ${namespace} have ${has} selectors with this one, and ${MAX_SELECTORS} are carried: it isolates ${whom}, and lets nothing pass`;
  const spec: PolicyEnforcementSpec = {
    policy: identityOf(policy),
    place: placeName(scope),
    ...writtenOf(enforcement),
    ...(whom !== undefined && { refused: { generation, reason: 'TooLarge' as const, message } }),
  };
  return { spec, groups, scope };
};

type Isolating = { enforcement: Enforcement; groups: ReadonlyMap<string, Group>; whom: string };

/** What it forbids without what it lets through: too many policies open no pod. */
const isolating = (
  policy: Policy,
  { scope, used }: { scope: Scope; used: ReadonlySet<string> },
): Isolating => {
  const { namespace, spec } = policy;
  const policyTypes = [...typesOf(policy)];
  const isolated = (selector: typeof spec.podSelector, whom: string): Isolating => {
    const compiled = compilePolicy(
      { namespace, spec: { podSelector: selector, policyTypes } },
      scope,
    );
    if ('enforcement' in compiled) return { ...compiled, whom };
    throw new Error('a policy without rules cannot be wrong');
  };
  const own = isolated(spec.podSelector, 'its pods');
  const hasRoom = used.has(own.enforcement.pods) || used.size < MAX_SELECTORS;
  return hasRoom ? own : isolated({}, 'all pods of the namespace');
};

const MAX_MESSAGE = 1_000;
/** The id of no selector. */
const NO_GROUP = '0'.repeat(16);

const refusedSpec = (
  policy: AnyPolicy,
  { hasCluster, networks }: Gateway,
  refused: Refusal,
): PolicyEnforcementSpec => ({
  policy: identityOf(policy),
  place: placeName([...(hasCluster ? CLUSTER_SCOPE : []), ...networks]),
  pods: NO_GROUP,
  isolates: [],
  lines: [],
  exceptions: [],
  refused: { generation: policy.generation, ...refused },
});

const unknownText = (network: string): string =>
  `no subnet of network ${network} is known: say it in annotation policy-networks of the CNF's pods, as in ${network}=10.1.0.0/24`;

const identityOf = ({
  generation,
  kind,
  name,
  namespace,
  uid,
}: AnyPolicy): PolicyEnforcementSpec['policy'] => ({
  ...(kind !== 'NetworkPolicy' && { kind }),
  namespace,
  name,
  uid,
  generation,
});

export const askedOf = (
  compiled: ReadonlyMap<string, Compiled>,
  { brought, members }: Pick<LiveGroups, 'brought' | 'members'>,
): AskedPolicies => {
  const enforcements = new Map<string, PolicyEnforcementSpec>();
  const groups = new Map<string, readonly string[]>();
  const refused = new Map<string, PolicyEnforcementSpec>();
  const crowded = new Map<string, string>();
  const sizeOf = (id: string): number => members(id).length;
  const isTaken = createAllowance(sizeOf);
  const follow = (ids: readonly string[]): void => {
    for (const id of ids) groups.set(id, members(id));
  };
  for (const [uid, one] of inTurns([...compiled], ([, { spec }]) => spec.policy.namespace)) {
    if ('refused' in one) {
      refused.set(uid, one.spec);
      continue;
    }
    const ids = [...one.groups.keys()];
    const own = sizeOf(one.spec.pods);
    if (own > MAX_GROUP_MEMBERS) {
      refused.set(uid, withoutLines(one.spec, own));
      follow(ids.filter((id) => sizeOf(id) <= MAX_GROUP_MEMBERS));
      continue;
    }
    const has = Math.max(...ids.map(sizeOf));
    const { exceptions, lines, policy } = one.spec;
    const isWhole =
      has <= MAX_GROUP_MEMBERS && isTaken(policy.namespace, lines.length + exceptions.length, ids);
    const why = has > MAX_GROUP_MEMBERS ? `${tooManyText(has)}: ${ISOLATES_ALONE}` : TOO_MUCH;
    const spec = isWhole ? one.spec : isolatingAlone(one.spec, why);
    enforcements.set(uid, spec);
    follow(groupsOf(spec));
    const most = Math.max(...ids.map(brought));
    if (isWhole && most > has) crowded.set(uid, crowdedText(most));
  }
  return { enforcements, groups, refused, crowded };
};

const tooManyText = (has: number): string =>
  tooLargeText({ what: 'addresses', has, limit: MAX_GROUP_MEMBERS });
const ISOLATES_ALONE = 'it isolates its pods, and lets nothing pass';

const isolatingAlone = (spec: PolicyEnforcementSpec, message: string): PolicyEnforcementSpec => ({
  ...spec,
  lines: [],
  exceptions: [],
  refused: { generation: spec.policy.generation, reason: 'TooLarge', message },
});

const withoutLines = (spec: PolicyEnforcementSpec, has: number): PolicyEnforcementSpec => ({
  ...isolatingAlone(spec, tooManyText(has)),
  pods: NO_GROUP,
  isolates: [],
});
