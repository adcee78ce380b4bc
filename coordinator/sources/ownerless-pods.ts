/**
 * Pods that have the purpose of a CNF and do not belong to it: they have no owner, while the CNF's
 * pods have one. Admission refuses them; one that got past it (it was there before) must neither
 * take all rules out of sync nor hold up their deletion: any user with the right to create pods
 * could have both.
 */
import type { CnfPod } from './cnf-pod.ts';

export const OWNERLESS =
  'the pod is not counted: it has no owner, and other pods of this purpose have one; delete it, or give it another purpose';

/** Those among all pods of some purposes and namespaces. */
export const ownerlessAmong = (pods: readonly CnfPod[]): ReadonlySet<CnfPod> => {
  const owned = new Set(pods.filter(isOfACnf).map(cnfOf));
  return new Set(pods.filter((pod) => !pod.owned && owned.has(cnfOf(pod))));
};

/**
 * The pods that count for a rule, among those that may hold it. A policy of the API server fixes
 * the purpose of a rule, so a pod of another purpose speaks of it only where the policy was away:
 * such a pod counts only with an owner.
 */
export const countedFor = (
  { purpose }: { purpose: string | undefined },
  pods: readonly CnfPod[],
): CnfPod[] => {
  const ownerless = ownerlessAmong(pods);
  return pods.filter(
    (pod) => !ownerless.has(pod) && (pod.owned || purpose === undefined || pod.purpose === purpose),
  );
};

/** Without an agent it cannot be the CNF. */
const isOfACnf = ({ owned, finished, agent }: CnfPod): boolean =>
  owned && !finished && agent.state !== 'missing';

const cnfOf = ({ namespace, purpose }: CnfPod): string => `${namespace}/${purpose ?? ''}`;
