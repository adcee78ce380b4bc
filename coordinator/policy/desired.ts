/** What one CNF is to enforce: the policies that hold there, the groups that they are about, and which of them cannot be carried. Pure. */
import { MAX_GROUP_MEMBERS, tooLargeText } from '#shared/policy/bounds.ts';
import { compilePolicy } from '#shared/policy/enforcement.ts';
import type { Group } from '#shared/policy/groups.ts';
import { CLUSTER_SCOPE, placeName, type Scope } from '#shared/policy/networks.ts';
import { writtenOf } from '#shared/resources/enforcement-lines.ts';
import type { PolicyEnforcementSpec, Refusal } from '#shared/resources/policy-enforcement.ts';
import { scopeOf, type Gateway } from './places.ts';
import type { AnyPolicy } from './watched.ts';

/** A policy at one CNF: what of it is written, and the groups that it is about. */
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
};

export const NOTHING_ASKED: AskedPolicies = {
  enforcements: new Map(),
  groups: new Map(),
  refused: new Map(),
};

/** By uid; those that do not hold there are left out. */
export const compiledAt = (
  gateway: Gateway,
  policies: readonly AnyPolicy[],
): ReadonlyMap<string, Compiled> =>
  new Map(
    policies.flatMap((policy) => {
      const compiled = compiledOne(gateway, policy);
      return compiled ? [[policy.uid, compiled] as const] : [];
    }),
  );

const compiledOne = (gateway: Gateway, policy: AnyPolicy): Compiled | undefined => {
  const at = scopeOf(policy, gateway);
  if (at === undefined) return undefined;
  const refuse = (reason: Refusal['reason'], text: string): Compiled => {
    const refused = { reason, message: text.slice(0, MAX_MESSAGE) };
    return { spec: refusedSpec(policy, gateway, refused), refused };
  };
  if ('unknown' in at) return refuse('SubnetUnknown', unknownText(at.unknown));
  if ('unread' in policy) return refuse(policy.unread.reason, policy.unread.message);
  const compiled = compilePolicy(policy, at.scope);
  if ('invalid' in compiled)
    return refuse('InvalidSpec', `${compiled.invalid.path}: ${compiled.invalid.message}`);
  if ('tooLarge' in compiled) return refuse('TooLarge', tooLargeText(compiled.tooLarge));
  const spec = {
    policy: identityOf(policy),
    place: placeName(at.scope),
    ...writtenOf(compiled.enforcement),
  };
  return { spec, groups: compiled.groups, scope: at.scope };
};

const MAX_MESSAGE = 1_000;
/** Of no selector. */
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
  membersOf: (id: string) => readonly string[],
): AskedPolicies => {
  const enforcements = new Map<string, PolicyEnforcementSpec>();
  const groups = new Map<string, readonly string[]>();
  const refused = new Map<string, PolicyEnforcementSpec>();
  for (const [uid, one] of compiled) {
    if ('refused' in one) {
      refused.set(uid, one.spec);
      continue;
    }
    let has = 0;
    for (const id of one.groups.keys()) {
      const members = groups.get(id) ?? membersOf(id);
      groups.set(id, members);
      has = Math.max(has, members.length);
    }
    if (has > MAX_GROUP_MEMBERS) refused.set(uid, withoutLines(one.spec, has));
    else enforcements.set(uid, one.spec);
  }
  for (const [id, { length }] of groups) if (length > MAX_GROUP_MEMBERS) groups.delete(id);
  return { enforcements, groups, refused };
};

const withoutLines = (spec: PolicyEnforcementSpec, has: number): PolicyEnforcementSpec => ({
  ...spec,
  pods: NO_GROUP,
  isolates: [],
  lines: [],
  exceptions: [],
  refused: {
    generation: spec.policy.generation,
    reason: 'TooLarge',
    message: tooLargeText({ what: 'addresses', has, limit: MAX_GROUP_MEMBERS }),
  },
});
