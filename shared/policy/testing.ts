/** For tests: who is in a group, looked for anew each time. */
import type { Labels } from '../kube/selector.ts';
import {
  isSelected,
  membersFrom,
  ownersOf,
  sortedMembers,
  type Group,
  type PolicyPod,
} from './groups.ts';

/** All members, sorted. */
export const membersOf = (
  group: Group,
  pods: readonly PolicyPod[],
  labelsOf: (namespace: string) => Labels,
  owners: ReadonlyMap<string, PolicyPod> = ownersOf(pods),
): readonly string[] => {
  const selected = pods.filter((pod) => isSelected(group, pod, labelsOf(pod.namespace)));
  return sortedMembers(selected.flatMap((pod) => membersFrom(group, pod, (of) => owners.get(of))));
};
