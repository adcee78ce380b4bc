/** What one CNF is to enforce: all policies of the cluster, the groups that they are about, and which of them cannot be carried. Pure. */
import { MAX_GROUP_MEMBERS, tooLargeText } from '#shared/policy/bounds.ts';
import { compilePolicy } from '#shared/policy/enforcement.ts';
import { membersOf, ownersOf, type Group, type PolicyPod } from '#shared/policy/groups.ts';
import type { Policy } from '#shared/policy/network-policy.ts';
import { writtenOf } from '#shared/resources/enforcement-lines.ts';
import { CLUSTER_PLACE, type PolicyEnforcementSpec } from '#shared/resources/policy-enforcement.ts';
import type { Labels } from '#shared/kube/selector.ts';

export type PolicyFacts = {
  policies: readonly Policy[];
  pods: readonly PolicyPod[];
  labelsOf: (namespace: string) => Labels;
};

export type AskedPolicies = {
  /** By the policy's uid. */
  enforcements: ReadonlyMap<string, PolicyEnforcementSpec>;
  /** Members of the groups that policies are about, by id; none that is too large to be carried. */
  groups: ReadonlyMap<string, readonly string[]>;
  /** Why a policy is not among them, by its uid. */
  refused: ReadonlyMap<string, string>;
};

export const askedOf = ({ policies, pods, labelsOf }: PolicyFacts): AskedPolicies => {
  const owners = ownersOf(pods);
  const found = new Map<string, readonly string[]>();
  const enforcements = new Map<string, PolicyEnforcementSpec>();
  const refused = new Map<string, string>();
  const membersFor = (id: string, group: Group): readonly string[] => {
    const members = found.get(id) ?? membersOf(group, pods, labelsOf, owners);
    found.set(id, members);
    return members;
  };
  for (const policy of policies) {
    const { uid, namespace, name, generation } = policy;
    const compiled = compilePolicy(policy);
    if ('tooLarge' in compiled) refused.set(uid, tooLargeText(compiled.tooLarge));
    else if ('invalid' in compiled)
      refused.set(uid, `${compiled.invalid.path}: ${compiled.invalid.message}`);
    else {
      const has = Math.max(
        ...[...compiled.groups].map(([id, group]) => membersFor(id, group).length),
      );
      if (has > MAX_GROUP_MEMBERS)
        refused.set(uid, tooLargeText({ what: 'addresses', has, limit: MAX_GROUP_MEMBERS }));
      else
        enforcements.set(uid, {
          policy: { namespace, name, uid, generation },
          place: CLUSTER_PLACE,
          ...writtenOf(compiled.enforcement),
        });
    }
  }
  const groups = new Map([...found].filter(([, { length }]) => length <= MAX_GROUP_MEMBERS));
  return { enforcements, groups, refused };
};
