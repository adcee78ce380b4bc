/** Deployments, ReplicaSets and pods as roll-outs see them. */
import * as z from 'zod';
import { objectSchema, type ResourceType } from '#shared/kube/objects.ts';
import {
  ACTIVE_LABEL,
  DELETION_COST_ANNOTATION,
  HANDED_OVER_GATE,
  NETWORK_PORTS_ANNOTATION,
  PORTS_GATE,
  WEIGHT_ANNOTATION,
} from '#shared/names.ts';
import { own } from '#shared/util/own.ts';
import { deployments, podResource, replicaSets } from '../../sources/workload.ts';
import type { FleetPod } from './pod.ts';

/** What tells the pods of one ReplicaSet from those of another. */
export const HASH_LABEL = 'pod-template-hash';
const REVISION_ANNOTATION = 'deployment.kubernetes.io/revision';
/** The annotation of `kubectl rollout restart`. */
export const RESTARTED_ANNOTATION = 'kubectl.kubernetes.io/restartedAt';

const texts = z.record(z.string(), z.string());
const containersSchema = z.array(z.looseObject({ image: z.string().optional() }));
const templateSchema = z.looseObject({
  metadata: z.looseObject({ labels: texts.optional(), annotations: texts.optional() }).optional(),
  spec: z
    .looseObject({
      containers: containersSchema.optional(),
    })
    .optional(),
});
export type PodTemplateText = z.infer<typeof templateSchema>;

const conditionSchema = z.looseObject({
  type: z.string(),
  status: z.string(),
  reason: z.string().optional(),
  message: z.string().optional(),
  lastTransitionTime: z.string().nullish(),
});

const deploymentSchema = objectSchema.extend({
  spec: z.looseObject({ selector: z.looseObject({}).optional(), template: templateSchema }),
  status: z
    .looseObject({
      observedGeneration: z.int().optional(),
      availableReplicas: z.int().optional(),
      conditions: z.array(conditionSchema).optional(),
    })
    .optional(),
});
export type FleetDeployment = z.infer<typeof deploymentSchema>;

export const fleetDeployments: ResourceType<FleetDeployment> = {
  ...deployments,
  schema: deploymentSchema,
};

const replicaSetSchema = objectSchema.extend({
  spec: z.looseObject({ template: templateSchema }),
  status: z.looseObject({ replicas: z.int().optional() }).optional(),
});
export type FleetReplicaSet = z.infer<typeof replicaSetSchema>;

export const fleetReplicaSets: ResourceType<FleetReplicaSet> = {
  ...replicaSets,
  schema: replicaSetSchema,
};

const podSchema = objectSchema.extend({
  spec: z.looseObject({
    nodeName: z.string().optional(),
    containers: containersSchema.optional(),
    initContainers: containersSchema.optional(),
    readinessGates: z.array(z.looseObject({ conditionType: z.string() })).optional(),
    schedulingGates: z.array(z.looseObject({ name: z.string() })).optional(),
  }),
  status: z
    .looseObject({
      phase: z.string().optional(),
      conditions: z.array(conditionSchema).optional(),
    })
    .optional(),
});
export type FleetPodObject = z.infer<typeof podSchema>;

export const fleetPods: ResourceType<FleetPodObject> = { ...podResource, schema: podSchema };

type Labelled = { metadata: { labels?: Record<string, string> | undefined } };

export const setOf = ({ metadata }: Labelled): string => metadata.labels?.[HASH_LABEL] ?? '';

const hasEnded = ({ status }: FleetPodObject): boolean =>
  status?.phase === 'Succeeded' || status?.phase === 'Failed';

export const isLive = (pod: FleetPodObject): boolean =>
  pod.metadata.deletionTimestamp === undefined && !hasEnded(pod);

/** An evicted pod stays as an object, for its ReplicaSet to have another one beside it. */
export const isFinished = (pod: FleetPodObject): boolean =>
  pod.metadata.deletionTimestamp === undefined && hasEnded(pod);

/** `known`: what its agent has reported, its kubelet, and what is known of its node. */
export const fleetPodOf = (
  pod: FleetPodObject,
  known: Pick<FleetPod, 'actual' | 'leaving' | 'link' | 'missing' | 'notReady' | 'unheard'>,
): FleetPod => ({
  name: pod.metadata.name,
  set: setOf(pod),
  ready: isTrue(pod, 'Ready'),
  readySince: readySinceOf(pod),
  containersReady: isTrue(pod, 'ContainersReady'),
  notReadySince: notReadySinceOf(pod),
  gate: gateOf(pod),
  opening: isOpening(pod),
  active: pod.metadata.labels?.[ACTIVE_LABEL] === 'true',
  weight: integerIn(pod, WEIGHT_ANNOTATION) ?? 0,
  deletionCost: integerIn(pod, DELETION_COST_ANNOTATION) ?? 0,
  createdAt: Date.parse(pod.metadata.creationTimestamp),
  startsAt: startOf(pod),
  ...known,
});

/** A pod that waits for addresses cannot start, and has all of its time when it has them. */
const startOf = (pod: FleetPodObject): number | undefined => {
  const { annotations = {}, creationTimestamp } = pod.metadata;
  if (pod.spec.schedulingGates?.some(({ name }) => name === PORTS_GATE)) return undefined;
  const scheduled = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled');
  const created = Date.parse(creationTimestamp);
  return own(annotations, NETWORK_PORTS_ANNOTATION) !== undefined && scheduled?.status === 'True'
    ? Math.max(created, momentOf(scheduled))
    : created;
};

const readySinceOf = ({ status }: FleetPodObject): number | undefined => {
  const condition = status?.conditions?.find(({ type }) => type === 'Ready');
  return condition?.status === 'True' ? momentOf(condition) : undefined;
};

/** A condition that is missing is as old as the pod. */
const notReadySinceOf = ({ metadata, status }: FleetPodObject): number | undefined => {
  const condition = status?.conditions?.find(({ type }) => type === 'ContainersReady');
  return condition?.status === 'True'
    ? undefined
    : Date.parse(condition?.lastTransitionTime ?? metadata.creationTimestamp);
};

/** What of the annotation is no integer of at most eight digits; undefined when all is well. */
export const badWeightOf = (pod: FleetPodObject): string | undefined => {
  const text = pod.metadata.annotations?.[WEIGHT_ANNOTATION];
  return integerIn(pod, WEIGHT_ANNOTATION) === undefined ? text : undefined;
};

/** A deletion cost, ten times the weight, has 32 bits. */
const INTEGER = /^-?[0-9]{1,8}$/;
const COST = /^-?[0-9]{1,10}$/;

const integerIn = ({ metadata }: FleetPodObject, name: string): number | undefined => {
  const text = own(metadata.annotations ?? {}, name);
  const form = name === WEIGHT_ANNOTATION ? INTEGER : COST;
  return text !== undefined && form.test(text) ? Number(text) : undefined;
};

const isTrue = ({ status }: FleetPodObject, type: string): boolean =>
  status?.conditions?.some((one) => one.type === type && one.status === 'True') ?? false;

const gateOf = (pod: FleetPodObject): FleetPod['gate'] => {
  const isGated = pod.spec.readinessGates?.some(
    ({ conditionType }) => conditionType === HANDED_OVER_GATE,
  );
  if (!isGated) return 'none';
  return isTrue(pod, HANDED_OVER_GATE) ? 'open' : 'closed';
};

/** A pod of a lost node is not ready since later. */
const isOpening = ({ status }: FleetPodObject): boolean => {
  const of = (type: string) => status?.conditions?.find((one) => one.type === type);
  const [gate, ready] = [of(HANDED_OVER_GATE), of('Ready')];
  if (gate?.status !== 'True' || ready?.status === 'True') return false;
  return momentOf(ready) <= momentOf(gate);
};

const momentOf = (condition: { lastTransitionTime?: string | null | undefined } | undefined) =>
  Date.parse(condition?.lastTransitionTime ?? '1970-01-01T00:00:00Z');

/**
 * The highest of a Deployment's sets is the one that was wanted last; 0: it has none yet, or a user
 * has written what is no number.
 */
export const revisionNumberOf = ({ metadata }: FleetReplicaSet): number => {
  const number = Number(metadata.annotations?.[REVISION_ANNOTATION]);
  return Number.isSafeInteger(number) ? number : 0;
};

/** The set of the Deployment's template; undefined while its controller has not come to it. */
export const newestSet = (
  { metadata, status }: FleetDeployment,
  sets: readonly FleetReplicaSet[],
): string | undefined => {
  if ((status?.observedGeneration ?? 0) < (metadata.generation ?? 0)) return undefined;
  const revision = metadata.annotations?.[REVISION_ANNOTATION];
  const newest = sets.find(
    (set) => revision !== undefined && set.metadata.annotations?.[REVISION_ANNOTATION] === revision,
  );
  return newest && setOf(newest);
};

/** What Kubernetes says of pods that it cannot make: quota, a webhook that denies. */
export const replicaFailure = ({ status }: FleetDeployment): string | undefined =>
  status?.conditions?.find(({ type, status: is }) => type === 'ReplicaFailure' && is === 'True')
    ?.message;

/** What there is of a CNFDeployment. */
export type Found = {
  present: FleetDeployment | undefined;
  /** The sets of that Deployment. */
  sets: readonly FleetReplicaSet[];
  live: readonly FleetPodObject[];
  /** Names of pods that have ended and still exist; of those alone that a CNF is there for. */
  finished: readonly string[];
};
