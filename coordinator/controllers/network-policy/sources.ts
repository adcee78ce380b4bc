/**
 * What policies are about, as the API server has it: a watch each of policies, pods and namespaces,
 * for all who enforce them, of which only what is read stays in memory. They begin with the first
 * who needs them: elsewhere nothing is watched.
 */
import { isDeepStrictEqual } from 'node:util';
import type { KubeClient } from '#shared/kube/client.ts';
import { Reflector } from '#shared/kube/informer/reflector.ts';
import type { StoreEvent } from '#shared/kube/informer/store.ts';
import { isAnswered } from '#shared/kube/informer/watch-state.ts';
import type { Group } from '#shared/policy/group-members.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { clusterMark } from '../../neutron/names.ts';
import { createManagedAddresses } from './managed-addresses.ts';
import { createLiveGroups, type LiveGroups, type Touched } from './live-groups.ts';
import { PolicyShares } from './policy-shares.ts';
import {
  multiNetworkPolicies,
  networkPolicies,
  watchedNamespaces,
  watchedPods,
  type AnyPolicy,
  type WatchedPod,
  type WatchedPolicy,
} from './kept.ts';

export type PolicySourcesOptions = {
  client: KubeClient;
  clock: Clock;
  /** Marks what is ours in Neutron, in place of the uid of the cluster. */
  clusterId?: string | undefined;
  log: Logger;
};

/** What enforces policies somewhere. It is told what may have changed; each must return at once. */
export type PolicyReader = {
  /** Whether it needs the sources now. */
  isWanted: () => boolean;
  /** These of its groups have other members, or their pods other addresses. */
  onTouched: (groups: Touched) => void;
  /** Policies, or it is known now which there are. */
  onPolicies: () => void;
  /** What a pod says of its ports in Neutron, or a pod that says something of them. */
  onPorts?: () => void;
};

export type PolicySources = {
  /** The reader is told from now on, and its groups are those that it has said last. */
  join: (reader: PolicyReader) => { follow: (groups: ReadonlyMap<string, Group>) => void };
  /** What was made first comes first. */
  policies: () => AnyPolicy[];
  policy: (uid: string) => WatchedPolicy | undefined;
  pod: (uid: string) => WatchedPod | undefined;
  /** Those that say something of ports in Neutron. */
  podsWithPorts: () => WatchedPod[];
  groups: Omit<LiveGroups, 'follow' | 'put' | 'relabel'>;
  /** What marks what is ours in Neutron; undefined: not known yet. */
  cluster: () => string | undefined;
  /** All is known, so that what is not there does not exist. */
  isKnown: () => boolean;
  run: (signal: AbortSignal) => Promise<void>;
};

/** Between looks whether anybody needs them. */
const UNWANTED_AGAIN_MS = 1_000;
/** Between looks whether a policy that found no room would find some. */
const ROOM_AGAIN_MS = 10_000;
const WITH_PORTS = 'yes';
/** Whose uid lives as long as the cluster. */
const CLUSTER_NAMESPACE = 'kube-system';

export const createPolicySources = (options: PolicySourcesOptions): PolicySources => {
  const { client, clock, clusterId, log } = options;
  const readers = new Map<PolicyReader, ReadonlyMap<string, Group>>();
  const groups = createLiveGroups();
  const shares = new PolicyShares();

  const tell = (touched: Touched): void => {
    if (touched.size === 0) return;
    for (const [reader, followed] of readers) {
      const own = new Set([...touched].filter((id) => followed.has(id)));
      if (own.size > 0) reader.onTouched(own);
    }
  };
  const onPolicies = (): void => {
    for (const reader of readers.keys()) reader.onPolicies();
  };
  const onPorts = (): void => {
    for (const reader of readers.keys()) reader.onPorts?.();
  };
  const common = { client, clock, log, onState: onPolicies };
  const ofPolicies = {
    ...common,
    isPartial: ({ policy }: WatchedPolicy) =>
      'unread' in policy && policy.unread.reason === 'TooLarge',
    onEvent: ({ type, object }: StoreEvent<WatchedPolicy>) => {
      if (type === 'deleted') shares.forget(object.metadata.uid);
      onPolicies();
    },
  };
  const policies = new Reflector({ ...ofPolicies, resource: networkPolicies(shares) });
  const others = new Reflector({ ...ofPolicies, resource: multiNetworkPolicies(shares) });
  const { managed, namespaces, pods } = watchMembers({ ...common, groups, tell, onPorts });
  const all = [policies, others, pods, namespaces] as const;

  const pause = async (ms: number, signal: AbortSignal): Promise<void> => {
    await clock.sleep(ms, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  };
  const untilWanted = async (signal: AbortSignal): Promise<void> => {
    const isWanted = (): boolean => [...readers.keys()].some((reader) => reader.isWanted());
    while (!signal.aborted && !isWanted()) await pause(UNWANTED_AGAIN_MS, signal);
  };
  const readAgain = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      await pause(ROOM_AGAIN_MS, signal);
      shares.keepOnly((uid) => [policies, others].some(({ store }) => store.byUid(uid)));
      if (shares.hasRoom()) for (const reflector of [policies, others]) reflector.relist();
    }
  };

  return {
    join: (reader) => {
      readers.set(reader, new Map());
      return {
        follow: (followed) => {
          readers.set(reader, followed);
          groups.follow(new Map([...readers.values()].flatMap((of) => [...of])));
        },
      };
    },
    policies: () =>
      [policies, others]
        .flatMap(({ store }) => store.list())
        .sort((one, other) => (ageOf(one) < ageOf(other) ? -1 : 1))
        .map(({ policy }) => policy),
    policy: (uid) => policies.store.byUid(uid) ?? others.store.byUid(uid),
    pod: (uid) => pods.store.byUid(uid),
    podsWithPorts: () => pods.store.by('ports', WITH_PORTS),
    groups,
    cluster: () => {
      const uid = namespaces.store.byName('', CLUSTER_NAMESPACE)?.metadata.uid;
      return clusterId ?? (uid === undefined ? undefined : clusterMark(uid));
    },
    isKnown: () =>
      [policies, pods, namespaces].every(({ state }) => state.listed) &&
      managed.isKnown() &&
      isAnswered(others.state),
    run: async (signal) => {
      await untilWanted(signal);
      if (signal.aborted) return;
      await Promise.all([
        readAgain(signal),
        managed.run(signal),
        ...all.map((reflector) => reflector.run(signal)),
      ]);
    },
  };
};

type MembersOptions = PolicySourcesOptions & {
  groups: LiveGroups;
  tell: (touched: Touched) => void;
  onPorts: () => void;
  onState: () => void;
};

/** Pods and namespaces, which groups are made of, and the addresses of pods in managed networks. */
const watchMembers = ({ groups, tell, onPorts, ...common }: MembersOptions) => {
  const put = ({ pod, metadata }: WatchedPod, isGone: boolean): void =>
    tell(groups.put(metadata.uid, isGone ? undefined : managed.seen(pod)));
  const managed = createManagedAddresses({
    ...common,
    onPod: (uid) => {
      const pod = pods.store.byUid(uid);
      if (pod) put(pod, false);
    },
    onNetworks: () => {
      for (const pod of pods.store.list()) put(pod, false);
    },
  });
  const pods = new Reflector({
    ...common,
    resource: watchedPods,
    indices: { ports: (pod) => (saysOfPorts(pod) ? [WITH_PORTS] : []) },
    onEvent: ({ type, object, old }) => {
      const isSame = type === 'updated' && isDeepStrictEqual(object.pod, old.pod);
      if (!isSame) put(object, type === 'deleted');
      const isOfPorts = saysOfPorts(object) || (old !== undefined && saysOfPorts(old));
      if (isOfPorts && !(isSame && isDeepStrictEqual(object.inNeutron, old.inNeutron))) onPorts();
    },
  });
  const namespaces = new Reflector({
    ...common,
    resource: watchedNamespaces,
    onEvent: ({ type, object, old }) => {
      if (type === 'updated' && isDeepStrictEqual(object.labels, old.labels)) return;
      tell(groups.relabel(object.metadata.name, type === 'deleted' ? {} : object.labels));
    },
  });
  return { managed, namespaces, pods };
};

const saysOfPorts = ({ inNeutron: { ports, groups } }: WatchedPod): boolean =>
  ports !== undefined || groups !== undefined;

const ageOf = ({ metadata: { creationTimestamp, uid } }: WatchedPolicy): string =>
  `${creationTimestamp} ${uid}`;
