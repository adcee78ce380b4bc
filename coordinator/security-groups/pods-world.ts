/** What policies in Neutron are about, as the API server has it: NetworkPolicies, pods and namespaces. Watched only where there is an OpenStack. */
import { isDeepStrictEqual } from 'node:util';
import type { KubeClient } from '#shared/kube/client.ts';
import type { KubeObject } from '#shared/kube/objects.ts';
import { Reflector } from '#shared/kube/reflector.ts';
import type { Labels } from '#shared/kube/selector.ts';
import type { Policy } from '#shared/policy/network-policy.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';
import {
  networkPolicyResource,
  watchedNamespaces,
  watchedPods,
  type WatchedPod,
} from '../policy/world.ts';

export type PodsWorldOptions = {
  client: KubeClient;
  /** Something has changed. Must return at once. */
  onChange: () => void;
  clock: Clock;
  log: Logger;
};

export type PodsWorld = {
  /** Those that can be read; what was made first comes first. */
  policies: () => Policy[];
  policy: (uid: string) => KubeObject | undefined;
  pods: () => WatchedPod[];
  labelsOf: (namespace: string) => Labels;
  /** Undefined: there is none, or it is not known yet. */
  namespaceUid: (name: string) => string | undefined;
  /** All is known, so that what is not there does not exist. */
  isKnown: () => boolean;
  run: (signal: AbortSignal) => Promise<void>;
};

export const createPodsWorld = ({ client, clock, log, onChange }: PodsWorldOptions): PodsWorld => {
  const common = { client, clock, log, onState: onChange };
  const policies = new Reflector({ ...common, resource: networkPolicyResource, onEvent: onChange });
  const pods = new Reflector({
    ...common,
    resource: watchedPods,
    onEvent: ({ type, object, old }) => {
      if (type !== 'updated' || !isDeepStrictEqual(readOf(object), readOf(old))) onChange();
    },
  });
  const namespaces = new Reflector({
    ...common,
    resource: watchedNamespaces,
    onEvent: ({ type, object, old }) => {
      if (type !== 'updated' || !isDeepStrictEqual(object.labels, old.labels)) onChange();
    },
  });
  const all = [policies, pods, namespaces] as const;
  return {
    policies: () =>
      policies.store
        .list()
        .sort((one, other) => (ageOf(one) < ageOf(other) ? -1 : 1))
        .flatMap(({ policy }) => ('spec' in policy ? policy : [])),
    policy: (uid) => policies.store.byUid(uid),
    pods: () => pods.store.list(),
    labelsOf: (namespace) => namespaces.store.byName('', namespace)?.labels ?? {},
    namespaceUid: (name) => namespaces.store.byName('', name)?.metadata.uid,
    isKnown: () => all.every(({ state }) => state.listed),
    run: async (signal) => {
      await Promise.all(all.map((reflector) => reflector.run(signal)));
    },
  };
};

const readOf = ({ pod, ports, groups }: WatchedPod): unknown => [pod, ports, groups];

const ageOf = ({ metadata: { creationTimestamp, uid } }: KubeObject): string =>
  `${creationTimestamp} ${uid}`;
