/** The pods that policies select, as the coordinator follows them. */
import type { Labels } from '#shared/kube/selector.ts';
import type { PolicyPod } from '#shared/policy/group-members.ts';
import { createLiveGroups } from '../../network-policy/live-groups.ts';
import type { AnyPolicy } from '../../network-policy/kept.ts';
import type { MembersFacts } from '../members.ts';
import { selectorsOf } from '../policy-parts.ts';

export type FollowedScenario = {
  policies: readonly AnyPolicy[];
  pods: readonly PolicyPod[];
  /** By namespace. */
  labels?: Readonly<Record<string, Labels>>;
};

export const followed = ({
  policies,
  pods,
  labels = {},
}: FollowedScenario): Pick<MembersFacts, 'selected' | 'ownerOf'> => {
  const groups = createLiveGroups();
  for (const [namespace, of] of Object.entries(labels)) groups.relabel(namespace, of);
  for (const pod of pods) groups.put(pod.uid, pod);
  groups.follow(new Map(policies.flatMap(selectorsOf)));
  return groups;
};
