/**
 * Pods that have the purpose of a CNF and do not belong to it: they have no owner, while the CNF's pods have one. Admission refuses them;
 * one that got past it (it was there before) must neither take all rules out of sync nor hold up their deletion: whoever may create pods
 * could have both.
 */
import type { Target } from './cnf-pod.ts';

export const STRANGER =
  'the pod is not counted: it has no owner, and other pods of this purpose have one; delete it, or give it another purpose';

/** Those among all pods of some purposes and namespaces. */
export const strangersAmong = (targets: readonly Target[]): ReadonlySet<Target> => {
  const owned = new Set(targets.filter(isOfACnf).map(cnfOf));
  return new Set(targets.filter((target) => !target.owned && owned.has(cnfOf(target))));
};

/** Without an agent it can't be the CNF, whoever has made it. */
const isOfACnf = ({ owned, finished, agent }: Target): boolean =>
  owned && !finished && agent.state !== 'missing';

const cnfOf = ({ namespace, purpose }: Target): string => `${namespace}/${purpose ?? ''}`;
