/** For tests: which pods are in a group, looked for anew each time. */
import type { Labels } from '../kube/selector.ts';
import {
  holdersIn,
  isSelected,
  membersFrom,
  sortedMembers,
  type Group,
  type PolicyPod,
} from './group-members.ts';

/** All members, sorted. */
export const membersOf = (
  group: Group,
  pods: readonly PolicyPod[],
  labelsOf: (namespace: string) => Labels,
  holders: ReadonlyMap<string, readonly PolicyPod[]> = holdersIn(pods),
): readonly string[] => {
  const selected = pods.filter((pod) => isSelected(group, pod, labelsOf(pod.namespace)));
  return sortedMembers(
    selected.flatMap((pod) => membersFrom(group, pod, (of) => holders.get(of) ?? [])),
  );
};
