/**
 * What is kept of a policy, a pod and a namespace: what policies are evaluated by, and no more than
 * a namespace's share of policies.
 */
import { createHash } from 'node:crypto';
import * as z from 'zod';
import { fullIn } from '#shared/compile/networks.ts';
import {
  identityOf,
  objectSchema,
  resourceV1,
  type KubeObject,
  type ResourceType,
} from '#shared/kube/objects.ts';
import type { Labels } from '#shared/kube/selector.ts';
import {
  POD_PORTS_ANNOTATION,
  POLICY_FOR_ANNOTATION,
  POLICY_GROUPS_ANNOTATION,
} from '#shared/names.ts';
import type { PolicyPod } from '#shared/policy/group-members.ts';
import {
  networkPolicySpecSchema,
  PROTOCOLS,
  type Policy,
  type PolicyKind,
  type UnreadPolicy,
} from '#shared/policy/network-policy.ts';
import { MAX_PORTS_TEXT } from '#shared/policy/pod-ports.ts';
import { own } from '#shared/util/own.ts';
import { shortened } from '#shared/util/shortened.ts';
import { addressedStatusSchema, addressesIn } from '../../sources/pod-addresses.ts';
import { podResource } from '../../sources/workload.ts';
import type { PolicyShares } from './policy-shares.ts';
import { secondAddressesIn } from '../../sources/second-addresses.ts';

export type AnyPolicy = Policy | UnreadPolicy;
export type WatchedPolicy = KubeObject & { policy: AnyPolicy };
export type WatchedPod = KubeObject & {
  pod: PolicyPod;
  inNeutron: {
    /** Its ports there, as its annotation has them. */
    ports?: string;
    /** `groupsMark` of the annotation that says which security groups these have. */
    groups?: string;
  };
};
export type WatchedNamespace = KubeObject & { labels: Labels };

const MAX_POLICY_FOR = 4_096;
/** Named ports of a pod; by those beyond nothing is let pass. */
const MAX_NAMED_PORTS = 128;

/** With their namespaces: a bare name is one of the policy's own. */
const networksOf = (kind: PolicyKind, namespace: string, annotations: Labels = {}): string[] => {
  const named = own(annotations, POLICY_FOR_ANNOTATION) ?? '';
  if (kind === 'NetworkPolicy' || named.length > MAX_POLICY_FOR) return [];
  return named.split(',').map((each) => fullIn(namespace, each.trim()));
};

/**
 * One that cannot be read, or is too long to be kept, is kept as such: its author must not be able
 * to end the watch of all others.
 */
const policyOf = (
  kind: PolicyKind,
  object: z.infer<typeof objectSchema>,
  shares: PolicyShares,
): AnyPolicy => {
  const { annotations, generation = 0, name, namespace, uid } = object.metadata;
  const networks = networksOf(kind, namespace, annotations);
  const identity = { kind, namespace, name, uid, generation, networks };
  const { data: spec, error } = networkPolicySpecSchema.safeParse(object['spec'] ?? {});
  const tooLong = shares.take(identity, JSON.stringify(spec ?? {}).length);
  if (tooLong !== undefined)
    return { ...identity, unread: { reason: 'TooLarge', message: tooLong } };
  if (spec) return { ...identity, spec };
  const [issue] = error.issues;
  const path = ['spec', ...(issue?.path ?? [])].join('.');
  const message = `${path}: ${issue?.message ?? error.message}`;
  return { ...identity, unread: { reason: 'InvalidSpec', message } };
};

const policiesOf = (
  kind: PolicyKind,
  resource: Pick<ResourceType, 'group' | 'version' | 'plural'>,
  shares: PolicyShares,
): ResourceType<WatchedPolicy> => ({
  ...resource,
  kind,
  schema: objectSchema.transform((object): WatchedPolicy => ({
    ...identityOf(object),
    policy: policyOf(kind, object, shares),
  })),
});

export const networkPolicies = (shares: PolicyShares): ResourceType<WatchedPolicy> =>
  policiesOf(
    'NetworkPolicy',
    { group: 'networking.k8s.io', version: 'v1', plural: 'networkpolicies' },
    shares,
  );

/** The kind of the Network Plumbing Working Group; many clusters do not serve it. */
export const multiNetworkPolicies = (shares: PolicyShares): ResourceType<WatchedPolicy> =>
  policiesOf(
    'MultiNetworkPolicy',
    { group: 'k8s.cni.cncf.io', version: 'v1beta1', plural: 'multi-networkpolicies' },
    shares,
  );

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
    nodeName: z.string().nullish(),
    hostNetwork: z.boolean().nullish(),
    containers: z.array(containerSchema).default([]),
    initContainers: z.array(containerSchema).nullish(),
  }),
  status: addressedStatusSchema.optional(),
});

const FINISHED: ReadonlySet<string> = new Set(['Succeeded', 'Failed']);

/** All that is compared of it: it can be as long as a pod's annotations may be. */
export const groupsMark = (text: string): string =>
  createHash('sha256').update(text).digest('base64');

const inNeutron = (annotations: Labels): WatchedPod['inNeutron'] => {
  const ports = shortened(own(annotations, POD_PORTS_ANNOTATION), MAX_PORTS_TEXT + 1);
  const groups = own(annotations, POLICY_GROUPS_ANNOTATION);
  return {
    ...(ports !== undefined && { ports }),
    ...(groups !== undefined && { groups: groupsMark(groups) }),
  };
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
    return {
      ...identityOf(object),
      inNeutron: inNeutron(annotations),
      pod: {
        namespace,
        name,
        uid,
        labels,
        creationTimestamp,
        addresses: addressesIn(status ?? {}),
        ...(secondAddresses.length > 0 && { secondAddresses }),
        ports: containers
          .flatMap(({ ports }) => ports ?? [])
          .flatMap((port) =>
            port.name
              ? [{ name: port.name, protocol: port.protocol, port: port.containerPort }]
              : [],
          )
          .slice(0, MAX_NAMED_PORTS),
        isHostNetwork: spec.hostNetwork === true,
        isFinished: FINISHED.has(status?.phase ?? ''),
        ...(!spec.nodeName && { isUnscheduled: true }),
        ...(object.metadata.deletionTimestamp !== undefined && { isTerminating: true }),
      },
    };
  }),
};

export const watchedNamespaces = resourceV1(
  '',
  'namespaces',
  'Namespace',
  objectSchema.transform((object): WatchedNamespace => ({
    ...identityOf(object),
    labels: object.metadata.labels ?? {},
  })),
);
