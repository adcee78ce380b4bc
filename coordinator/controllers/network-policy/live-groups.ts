/**
 * Which pods are in which group, kept up to date event by event: a pod that changes is asked of the
 * selectors that can select it, once, and touches the groups that it was in or is in. It has to
 * give what `membersOf` of shared/policy/testing.ts gives, to which a property test holds it.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Labels } from '#shared/kube/selector.ts';
import { MAX_GROUP_MEMBERS } from '#shared/policy/bounds.ts';
import {
  isSelected,
  membersFrom,
  sortedMembers,
  type Group,
  type PolicyPod,
} from '#shared/policy/group-members.ts';
import { sharedAmong } from '#shared/policy/shares.ts';
import { createClaims } from './claims.ts';

/** Ids of groups. */
export type Touched = ReadonlySet<string>;

export type LiveGroups = {
  /** These groups are followed from now on, and no others. */
  follow: (groups: ReadonlyMap<string, Group>) => void;
  /** `undefined`: the pod is gone. Which groups have to be looked at. */
  put: (uid: string, pod: PolicyPod | undefined) => Touched;
  /** Labels of the namespace have changed. */
  relabel: (namespace: string, labels: Labels) => Touched;
  /** None of a group that is not followed; of one of several namespaces no more than is carried. */
  members: (id: string) => readonly string[];
  /** How many members it would have if namespaces had no share of it. */
  brought: (id: string) => number;
  /** Pods that it selects, whatever addresses they have. */
  selected: (id: string) => readonly PolicyPod[];
  /** Which pod the address belongs to, by its claim; undefined where that is not certain. */
  ownerOf: (claim: string) => PolicyPod | undefined;
  /** To which pods it may belong. */
  holdersOf: (claim: string) => readonly PolicyPod[];
  size: () => { groups: number; members: number };
};

type Followed = {
  group: Group;
  pods: Map<string, PolicyPod>;
  /** Undefined: to be worked out. */
  members: Members | undefined;
};

type Members = { carried: readonly string[]; brought: number };
const NO_MEMBERS: Members = { carried: [], brought: 0 };

export const createLiveGroups = (): LiveGroups => {
  const labels = new Map<string, Labels>();
  const byNamespace = new Map<string, Map<string, PolicyPod>>();
  const pods = new Map<string, PolicyPod>();
  const claims = createClaims();
  const groupsOfPod = new Map<string, Set<string>>();
  const followed = new Map<string, Followed>();
  /** Groups of one namespace, by its name; the others can select pods of any. */
  const inNamespace = new Map<string, Set<string>>();
  const anywhere = new Set<string>();

  const labelsOf = (namespace: string): Labels => labels.get(namespace) ?? {};
  const idsIn = (namespace: string): Set<string> => inNamespace.getOrInsert(namespace, new Set());
  const homeOf = ({ namespaces }: Group): Set<string> =>
    'name' in namespaces ? idsIn(namespaces.name) : anywhere;

  const forget = (id: string): void => {
    const one = followed.get(id);
    if (one) one.members = undefined;
  };

  /** Whether the group's members, or what it selects, can be others now. */
  const enter = (id: string, uid: string, pod: PolicyPod | undefined): boolean => {
    const one = followed.get(id);
    if (one === undefined) return false;
    const was = one.pods.get(uid);
    const is = pod !== undefined && isSelected(one.group, pod, labelsOf(pod.namespace));
    if (pod && is) {
      one.pods.set(uid, pod);
      groupsOfPod.getOrInsert(uid, new Set()).add(id);
    } else if (was) {
      one.pods.delete(uid);
      groupsOfPod.get(uid)?.delete(id);
    }
    const isSame = is ? was !== undefined && isSameButLabels(was, pod) : was === undefined;
    if (!isSame) one.members = undefined;
    return !isSame;
  };

  const remember = (uid: string, pod: PolicyPod | undefined, old: PolicyPod | undefined): void => {
    if (old) byNamespace.get(old.namespace)?.delete(uid);
    if (pod) {
      pods.set(uid, pod);
      byNamespace.getOrInsert(pod.namespace, new Map()).set(uid, pod);
    } else pods.delete(uid);
  };

  const put = (uid: string, pod: PolicyPod | undefined): Touched => {
    const old = pods.get(uid);
    const others = claims.put(uid, pod, old);
    const touched = new Set(others.flatMap((other) => [...(groupsOfPod.get(other) ?? [])]));
    for (const id of touched) forget(id);
    remember(uid, pod, old);
    const namespace = (pod ?? old)?.namespace ?? '';
    for (const id of [...(inNamespace.get(namespace) ?? []), ...anywhere])
      if (enter(id, uid, pod)) touched.add(id);
    if (pod === undefined) groupsOfPod.delete(uid);
    return touched;
  };

  const follow = (groups: ReadonlyMap<string, Group>): void => {
    for (const [id, { group, pods: inside }] of followed) {
      if (groups.has(id)) continue;
      followed.delete(id);
      homeOf(group).delete(id);
      for (const uid of inside.keys()) groupsOfPod.get(uid)?.delete(id);
    }
    for (const [id, group] of groups) {
      if (followed.has(id)) continue;
      followed.set(id, { group, pods: new Map(), members: undefined });
      homeOf(group).add(id);
      const { namespaces } = group;
      const near = 'name' in namespaces ? (byNamespace.get(namespaces.name) ?? new Map()) : pods;
      for (const [uid, pod] of near) enter(id, uid, pod);
    }
  };

  const membersOf = (id: string): Members => membersIn(followed.get(id), claims.holdersOf);
  const members = (id: string): readonly string[] => membersOf(id).carried;

  return {
    follow,
    put,
    relabel: (namespace, of) => {
      labels.set(namespace, of);
      const touched = new Set<string>();
      for (const [uid, pod] of byNamespace.get(namespace) ?? [])
        for (const id of anywhere) if (enter(id, uid, pod)) touched.add(id);
      return touched;
    },
    members,
    brought: (id) => membersOf(id).brought,
    selected: (id) => [...(followed.get(id)?.pods.values() ?? [])],
    ownerOf: claims.ownerOf,
    holdersOf: claims.holdersOf,
    size: () => ({
      groups: followed.size,
      members: [...followed.keys()].reduce((sum, id) => sum + members(id).length, 0),
    }),
  };
};

const sharedMembers = ({ group, pods }: Followed, holdersOf: LiveGroups['holdersOf']): Members => {
  const membersOf = (of: Iterable<PolicyPod>): readonly string[] =>
    sortedMembers([...of].flatMap((pod) => membersFrom(group, pod, holdersOf)));
  const all = membersOf(pods.values());
  const brought = all.length;
  // In a group of its policy's own namespace, any that is left out could be a pod to be isolated.
  if (brought <= MAX_GROUP_MEMBERS || 'name' in group.namespaces) return { carried: all, brought };
  const byNamespace = Map.groupBy(pods.values(), ({ namespace }) => namespace);
  const carried = sharedAmong([...byNamespace.values()].map(membersOf), MAX_GROUP_MEMBERS);
  return { carried: sortedMembers(carried), brought };
};

/** What a group has of a pod that it selects does not hang on the pod's labels. */
const isSameButLabels = (one: PolicyPod, other: PolicyPod): boolean =>
  one === other || isDeepStrictEqual({ ...one, labels: {} }, { ...other, labels: {} });

const membersIn = (one: Followed | undefined, holdersOf: LiveGroups['holdersOf']): Members => {
  if (one === undefined) return NO_MEMBERS;
  one.members ??= sharedMembers(one, holdersOf);
  return one.members;
};
