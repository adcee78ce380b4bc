/** What the status of a PolicyEnforcement says of the policy's pods: how many it protects here, and which not and why. Never more than agents have reported. Pure. */
import {
  isSelected,
  type ownersOf,
  type PolicyPod,
  type PodSelector,
} from '#shared/policy/groups.ts';
import { spelled } from '#shared/policy/addresses.ts';
import type { Labels } from '#shared/kube/selector.ts';
import type { PolicyEnforcement } from '#shared/resources/policy-enforcement.ts';

export type Status = NonNullable<PolicyEnforcement['status']>;
export type OwnStatus = Pick<Status, 'selectedPods' | 'notEnforced' | 'scope'>;

const MAX_EXAMPLES = 5;

type Facts = {
  selector: PodSelector;
  pods: readonly PolicyPod[];
  labelsOf: (namespace: string) => Labels;
  owners: ReturnType<typeof ownersOf>;
  /** Uids of the pods of the CNF itself. */
  cnf: ReadonlySet<string>;
  purpose: string;
  /** Each agent of the CNF has reported exactly this. */
  isInSync: boolean;
};

export const ownStatusOf = (facts: Facts): OwnStatus => {
  const { labelsOf, pods, purpose, selector } = facts;
  const selected = pods.filter((pod) => isSelected(selector, pod, labelsOf(pod.namespace)));
  const reasons = new Map<string, string[]>();
  for (const pod of selected) {
    const reason = whyNotEnforced(pod, facts);
    if (reason !== undefined)
      reasons.set(reason, [...(reasons.get(reason) ?? []), `${pod.namespace}/${pod.name}`]);
  }
  const without = [...reasons.values()].reduce((sum, { length }) => sum + length, 0);
  const enforced = selected.length - without;
  const notEnforced = [...reasons]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([reason, names]) => ({
      reason,
      pods: names.length,
      examples: names.toSorted().slice(0, MAX_EXAMPLES),
    }));
  return {
    selectedPods: {
      selected: selected.length,
      enforced,
      summary: `${enforced}/${selected.length}`,
    },
    ...(notEnforced.length > 0 && { notEnforced }),
    scope: `only packets that the pods of CNF ${purpose} forward from or to the pods' own addresses: those between pods of one network, and those of host-network pods, do not come here`,
  };
};

const whyNotEnforced = (pod: PolicyPod, { cnf, isInSync, owners }: Facts): string | undefined => {
  if (cnf.has(pod.uid)) return 'IsTheEnforcer';
  if (pod.isHostNetwork) return 'HostNetwork';
  if (pod.isFinished) return 'Finished';
  const addresses = pod.addresses.flatMap((text) => spelled(text)?.address ?? []);
  if (addresses.length === 0) return 'NoAddressYet';
  if (addresses.some((address) => owners.get(address) !== pod)) return 'AddressTaken';
  return isInSync ? undefined : 'AgentNotReady';
};
