/**
 * What policies are about, as the API server has it: a watch each of policies, pods and namespaces, of which only what is read stays in
 * memory. They begin with the first CNF that asks for them: elsewhere nothing is watched.
 */
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
import type { PolicyPod } from '#shared/policy/groups.ts';
import { networkPolicySpecSchema, PROTOCOLS, type Policy } from '#shared/policy/network-policy.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { podResource } from '../cnf/workload.ts';

type WatchedPolicy = KubeObject & { policy: Policy };
type WatchedPod = KubeObject & { pod: PolicyPod };
type WatchedNamespace = KubeObject & { labels: Labels };

export const networkPolicyResource: ResourceType<WatchedPolicy> = {
  group: 'networking.k8s.io',
  version: 'v1',
  plural: 'networkpolicies',
  kind: 'NetworkPolicy',
  schema: objectSchema
    .extend({ spec: networkPolicySpecSchema })
    .transform(({ spec, ...object }): WatchedPolicy => {
      const { generation = 0, name, namespace, uid } = object.metadata;
      return { ...identityOf(object), policy: { namespace, name, uid, generation, spec } };
    }),
};

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

const watchedPods: ResourceType<WatchedPod> = {
  ...podResource,
  schema: podSchema.transform(({ spec, status, ...object }): WatchedPod => {
    const { creationTimestamp, labels = {}, name, namespace, uid } = object.metadata;
    const containers = [...(spec.initContainers ?? []), ...spec.containers];
    const { phase = '', podIP, podIPs } = status ?? {};
    return {
      ...identityOf(object),
      pod: {
        namespace,
        name,
        uid,
        labels,
        creationTimestamp,
        addresses: podIPs?.map(({ ip }) => ip) ?? (podIP ? [podIP] : []),
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

const watchedNamespaces: ResourceType<WatchedNamespace> = {
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
  /** Something that policies are about has changed. Must return at once. */
  onChange: () => void;
  clock: Clock;
  log: Logger;
};

export type PolicyWorld = {
  policies: () => Policy[];
  policy: (uid: string) => KubeObject | undefined;
  pods: () => PolicyPod[];
  labelsOf: (namespace: string) => Labels;
  /** All is known, so that what is not there does not exist. */
  isKnown: () => boolean;
  run: (signal: AbortSignal) => Promise<void>;
};

/** Between looks whether a CNF asks for policies. */
const UNWANTED_AGAIN_MS = 1_000;

export const createPolicyWorld = (options: PolicyWorldOptions): PolicyWorld => {
  const { client, clock, isWanted, log, onChange } = options;
  const common = { client, clock, log, onState: onChange };
  const policies = new Reflector({
    ...common,
    resource: networkPolicyResource,
    onEvent: onChange,
  });
  const pods = new Reflector({
    ...common,
    resource: watchedPods,
    onEvent: ({ type, object, old }) => {
      if (type !== 'updated' || JSON.stringify(object.pod) !== JSON.stringify(old.pod)) onChange();
    },
  });
  const namespaces = new Reflector({
    ...common,
    resource: watchedNamespaces,
    onEvent: ({ type, object, old }) => {
      if (type !== 'updated' || JSON.stringify(object.labels) !== JSON.stringify(old.labels))
        onChange();
    },
  });
  const all = [policies, pods, namespaces] as const;
  const untilWanted = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted && !isWanted())
      await clock.sleep(UNWANTED_AGAIN_MS, signal).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
  };
  return {
    policies: () => policies.store.list().map(({ policy }) => policy),
    policy: (uid) => policies.store.byUid(uid),
    pods: () => pods.store.list().map(({ pod }) => pod),
    labelsOf: (namespace) => namespaces.store.byName('', namespace)?.labels ?? {},
    isKnown: () => all.every(({ state }) => state.listed),
    run: async (signal) => {
      await untilWanted(signal);
      if (!signal.aborted) await Promise.all(all.map((reflector) => reflector.run(signal)));
    },
  };
};
