/**
 * What policies are about, as the API server has it: a watch each of policies, pods and namespaces, of which only what is read stays in
 * memory. They begin with the first CNF that asks for them: elsewhere nothing is watched.
 */
import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import type { KubeClient } from '#shared/kube/client.ts';
import {
  identityOf,
  objectSchema,
  type KubeObject,
  type ResourceType,
} from '#shared/kube/objects.ts';
import { Reflector } from '#shared/kube/reflector.ts';
import type { Labels } from '#shared/kube/selector.ts';
import {
  POD_PORTS_ANNOTATION,
  POLICY_FOR_ANNOTATION,
  POLICY_GROUPS_ANNOTATION,
} from '#shared/names.ts';
import type { PolicyPod } from '#shared/policy/groups.ts';
import {
  networkPolicySpecSchema,
  PROTOCOLS,
  type Policy,
  type PolicyKind,
  type UnreadPolicy,
} from '#shared/policy/network-policy.ts';
import { MAX_PORTS_TEXT } from '#shared/policy/pod-ports.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import { own } from '#shared/runtime/own.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { podResource } from '../cnf/workload.ts';
import { createLiveGroups, type LiveGroups, type Touched } from './live-groups.ts';
import { secondAddressesIn } from './second-addresses.ts';

export type AnyPolicy = Policy | UnreadPolicy;
type WatchedPolicy = KubeObject & { policy: AnyPolicy };
export type WatchedPod = KubeObject & {
  pod: PolicyPod;
  /** Annotations of it, as they are: its ports in Neutron, and the security groups that these have. */
  ports?: string;
  groups?: string;
};
export type WatchedNamespace = KubeObject & { labels: Labels };

const MAX_POLICY_FOR = 4_096;

/** One that cannot be read is kept as such: whoever may write it must not end the watch of all others. */
const policyOf = (kind: PolicyKind, object: z.infer<typeof objectSchema>): AnyPolicy => {
  const { annotations = {}, generation = 0, name, namespace, uid } = object.metadata;
  const named = annotations[POLICY_FOR_ANNOTATION] ?? '';
  const networks =
    kind === 'NetworkPolicy' || named.length > MAX_POLICY_FOR
      ? []
      : named.split(',').map((each) => each.trim());
  const identity = { kind, namespace, name, uid, generation, networks };
  const { data: spec, error } = networkPolicySpecSchema.safeParse(object['spec'] ?? {});
  if (spec) return { ...identity, spec };
  const [issue] = error.issues;
  const path = ['spec', ...(issue?.path ?? [])].join('.');
  return { ...identity, invalid: { path, message: issue?.message ?? error.message } };
};

const policiesOf = (
  kind: PolicyKind,
  resource: Pick<ResourceType, 'group' | 'version' | 'plural'>,
): ResourceType<WatchedPolicy> => ({
  ...resource,
  kind,
  schema: objectSchema.transform((object): WatchedPolicy => ({
    ...identityOf(object),
    policy: policyOf(kind, object),
  })),
});

export const networkPolicyResource = policiesOf('NetworkPolicy', {
  group: 'networking.k8s.io',
  version: 'v1',
  plural: 'networkpolicies',
});

/** Of the Network Plumbing Working Group; many clusters do not serve it. */
export const multiNetworkPolicyResource = policiesOf('MultiNetworkPolicy', {
  group: 'k8s.cni.cncf.io',
  version: 'v1beta1',
  plural: 'multi-networkpolicies',
});

const containerSchema = z.object({
  ports: z
    .array(
      z.object({
        name: z.string().optional(),
        protocol: z.enum(PROTOCOLS).default('TCP'),
        containerPort: z.int(),
      }),
    )
    .nullish(),
});

const podSchema = objectSchema.extend({
  spec: z.object({
    hostNetwork: z.boolean().nullish(),
    containers: z.array(containerSchema).default([]),
    initContainers: z.array(containerSchema).nullish(),
  }),
  status: z
    .object({
      phase: z.string().optional(),
      podIP: z.string().optional(),
      podIPs: z.array(z.object({ ip: z.string() })).optional(),
    })
    .optional(),
});

const FINISHED: ReadonlySet<string> = new Set(['Succeeded', 'Failed']);

const inNeutron = (annotations: Labels): Pick<WatchedPod, 'ports' | 'groups'> => {
  const ports = own(annotations, POD_PORTS_ANNOTATION)?.slice(0, MAX_PORTS_TEXT + 1);
  const groups = own(annotations, POLICY_GROUPS_ANNOTATION);
  return { ...(ports !== undefined && { ports }), ...(groups !== undefined && { groups }) };
};

export const watchedPods: ResourceType<WatchedPod> = {
  ...podResource,
  schema: podSchema.transform(({ spec, status, ...object }): WatchedPod => {
    const {
      annotations = {},
      creationTimestamp,
      labels = {},
      name,
      namespace,
      uid,
    } = object.metadata;
    const secondAddresses = secondAddressesIn(annotations);
    const containers = [...(spec.initContainers ?? []), ...spec.containers];
    const { phase = '', podIP, podIPs } = status ?? {};
    return {
      ...identityOf(object),
      ...inNeutron(annotations),
      pod: {
        namespace,
        name,
        uid,
        labels,
        creationTimestamp,
        addresses: podIPs?.map(({ ip }) => ip) ?? (podIP ? [podIP] : []),
        ...(secondAddresses.length > 0 && { secondAddresses }),
        ports: containers
          .flatMap(({ ports }) => ports ?? [])
          .flatMap((port) =>
            port.name
              ? [{ name: port.name, protocol: port.protocol, port: port.containerPort }]
              : [],
          ),
        isHostNetwork: spec.hostNetwork === true,
        isFinished: FINISHED.has(phase),
      },
    };
  }),
};

export const watchedNamespaces: ResourceType<WatchedNamespace> = {
  group: '',
  version: 'v1',
  plural: 'namespaces',
  kind: 'Namespace',
  schema: objectSchema.transform((object): WatchedNamespace => ({
    ...identityOf(object),
    labels: object.metadata.labels ?? {},
  })),
};

export type PolicyWorldOptions = {
  client: KubeClient;
  /** Whether any CNF asks for policies. */
  isWanted: () => boolean;
  /** Who is in these groups, or which of their pods have addresses, may have changed. Must return at once. */
  onTouched: (groups: Touched) => void;
  /** Policies have changed, or it is known now which there are. Must return at once. */
  onPolicies: () => void;
  clock: Clock;
  log: Logger;
};

export type PolicyWorld = {
  policies: () => AnyPolicy[];
  policy: (uid: string) => WatchedPolicy | undefined;
  groups: LiveGroups;
  /** All is known, so that what is not there does not exist. */
  isKnown: () => boolean;
  run: (signal: AbortSignal) => Promise<void>;
};

/** Between looks whether a CNF asks for policies. */
const UNWANTED_AGAIN_MS = 1_000;

export const createPolicyWorld = (options: PolicyWorldOptions): PolicyWorld => {
  const { client, clock, isWanted, log, onPolicies, onTouched } = options;
  const common = { client, clock, log, onState: onPolicies };
  const groups = createLiveGroups();
  const tell = (touched: Touched): void => {
    if (touched.size > 0) onTouched(touched);
  };
  const policies = new Reflector({
    ...common,
    resource: networkPolicyResource,
    onEvent: onPolicies,
  });
  const multiNetworkPolicies = new Reflector({
    ...common,
    resource: multiNetworkPolicyResource,
    onEvent: onPolicies,
  });
  const pods = new Reflector({
    ...common,
    resource: watchedPods,
    onEvent: ({ type, object, old }) => {
      if (type === 'updated' && isDeepStrictEqual(object.pod, old.pod)) return;
      tell(groups.put(object.metadata.uid, type === 'deleted' ? undefined : object.pod));
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
  const all = [policies, multiNetworkPolicies, pods, namespaces] as const;
  const untilWanted = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted && !isWanted())
      await clock.sleep(UNWANTED_AGAIN_MS, signal).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
  };
  return {
    policies: () =>
      [policies, multiNetworkPolicies].flatMap(({ store }) =>
        store.list().map(({ policy }) => policy),
      ),
    policy: (uid) => policies.store.byUid(uid) ?? multiNetworkPolicies.store.byUid(uid),
    groups,
    isKnown: () =>
      [policies, pods, namespaces].every(({ state }) => state.listed) &&
      (multiNetworkPolicies.state.listed || multiNetworkPolicies.state.phase === 'NotServed'),
    run: async (signal) => {
      await untilWanted(signal);
      if (!signal.aborted) await Promise.all(all.map((reflector) => reflector.run(signal)));
    },
  };
};
