/**
 * A pod as roll-up and finalizers see it: the few facts about a CNF pod and its agent that decide
 * anything. Made from a Pod by a pure function; texts hold no counters or times, so that a pod that
 * merely goes on failing changes nothing.
 */
import * as z from 'zod';
import { WITHOUT_KINDS_ENV } from '#shared/inject/environment.ts';
import { AGENT_CONTAINER, PURPOSE_ENV, PURPOSE_LABEL, WEIGHT_ANNOTATION } from '#shared/names.ts';
import { few } from '#shared/util/few.ts';
import { shortened } from '#shared/util/shortened.ts';

export type AgentContainer =
  /** The pod was made without the agent. */
  | { state: 'missing' }
  /** No state of the container shows that it ran. `scheduled`: a kubelet may soon start it. */
  | { state: 'never-started'; scheduled: boolean }
  /** `startedAt`: of its latest run that the kubelet has reported; wall-clock milliseconds. */
  | { state: 'started'; startedAt: number | undefined };

export type CnfPod = {
  namespace: string;
  name: string;
  uid: string;
  /**
   * The purpose in the agent's environment, if it is a literal value: one from a field or ConfigMap
   * could be changed by others than the pod's author.
   */
  serves: string | undefined;
  /** `serves`, or else what the pod's label says. Undefined: no CNF pod. */
  purpose: string | undefined;
  /** A controller, such as a ReplicaSet, has made it. */
  owned: boolean;
  ready: boolean;
  /**
   * Why not; '' when ready. The same text for as long as the cause is the same, whatever the
   * kubelet is trying at the moment.
   */
  notReady: string;
  /** It does not become ready by itself soon: more than a start. */
  troubled: boolean;
  terminating: boolean;
  /** Succeeded or Failed: its containers are gone for good. */
  finished: boolean;
  agent: AgentContainer;
  /** When the latest of the running other containers started, in ms; one is OpenWRT's. */
  othersStartedAt: number | undefined;
  /** Kinds that the agent is configured to leave out, since it may not read them. */
  withoutKinds: readonly string[];
  /** As the annotation has it. */
  weight: string | undefined;
};

/** A time in whole seconds. The API server takes null for one that was not given. */
const time = z.string().nullish();

const containerStateSchema = z.object({
  waiting: z.object({ reason: z.string().optional() }).optional(),
  running: z.object({ startedAt: time }).optional(),
  terminated: z.object({ reason: z.string().optional(), startedAt: time }).optional(),
});

const containerStatusSchema = z.object({
  name: z.string(),
  ready: z.boolean().optional(),
  restartCount: z.int().default(0),
  state: containerStateSchema.optional(),
  lastState: containerStateSchema.optional(),
});
type ContainerStatus = z.infer<typeof containerStatusSchema>;

const containerSchema = z.object({
  name: z.string(),
  env: z.array(z.object({ name: z.string(), value: z.string().optional() })).optional(),
});

const podSchema = z.object({
  metadata: z.object({
    namespace: z.string(),
    name: z.string(),
    uid: z.string(),
    labels: z.record(z.string(), z.string()).optional(),
    annotations: z.record(z.string(), z.string()).optional(),
    deletionTimestamp: z.string().optional(),
    ownerReferences: z.array(z.object({ controller: z.boolean().optional() })).optional(),
  }),
  spec: z.object({
    nodeName: z.string().optional(),
    containers: z.array(containerSchema),
    initContainers: z.array(containerSchema).optional(),
  }),
  status: z
    .object({
      phase: z.string().optional(),
      conditions: z
        .array(z.object({ type: z.string(), status: z.string(), reason: z.string().optional() }))
        .optional(),
      containerStatuses: z.array(containerStatusSchema).optional(),
      initContainerStatuses: z.array(containerStatusSchema).optional(),
    })
    .optional(),
});
type Pod = z.infer<typeof podSchema>;

/** No more is kept of what an author writes into an environment; a cut-off purpose is none. */
const MAX_LABEL_LENGTH = 63;
const MAX_KINDS_LENGTH = 1_024;
/** A change beyond it makes no difference. */
const MAX_WEIGHT_LENGTH = 16;

/** @throws ZodError when this is not a Pod as the API server writes it. */
export const cnfPodOf = (object: unknown): CnfPod => {
  const pod = podSchema.parse(object);
  const agent = containersOf(pod).find((container) => container.name === AGENT_CONTAINER);
  const envOf = (name: string, most: number) =>
    shortened(agent?.env?.find((variable) => variable.name === name)?.value, most);
  const serves = envOf(PURPOSE_ENV, MAX_LABEL_LENGTH + 1);
  const ready = conditionOf(pod, 'Ready')?.status === 'True';
  return {
    namespace: pod.metadata.namespace,
    name: pod.metadata.name,
    uid: pod.metadata.uid,
    serves,
    purpose: serves ?? pod.metadata.labels?.[PURPOSE_LABEL],
    owned: isOwned(pod),
    ready,
    ...(ready ? { notReady: '', troubled: false } : whyNotReady(pod)),
    terminating: pod.metadata.deletionTimestamp !== undefined,
    finished: pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed',
    agent: agent ? agentContainerOf(pod) : { state: 'missing' },
    othersStartedAt: othersStartOf(pod),
    withoutKinds: envOf(WITHOUT_KINDS_ENV, MAX_KINDS_LENGTH)?.split(',') ?? [],
    weight: weightOf(pod),
  };
};

/** Whether a change between two views of one pod can change a status or a decision. */
export const isSameCnfPod = (one: CnfPod, other: CnfPod): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

const weightOf = ({ metadata: { annotations = {} } }: Pod): string | undefined =>
  shortened(annotations[WEIGHT_ANNOTATION], MAX_WEIGHT_LENGTH);

const isOwned = ({ metadata }: Pod): boolean =>
  metadata.ownerReferences?.some(({ controller }) => controller) ?? false;

const containersOf = (pod: Pod): z.infer<typeof containerSchema>[] => [
  ...(pod.spec.initContainers ?? []),
  ...pod.spec.containers,
];

const statusesOf = (pod: Pod): ContainerStatus[] => [
  ...(pod.status?.initContainerStatuses ?? []),
  ...(pod.status?.containerStatuses ?? []),
];

const conditionOf = (pod: Pod, type: string) =>
  pod.status?.conditions?.find((condition) => condition.type === type);

const agentContainerOf = (pod: Pod): AgentContainer => {
  const status = statusesOf(pod).find((container) => container.name === AGENT_CONTAINER);
  const everRan =
    status !== undefined &&
    (status.restartCount > 0 ||
      [status.state, status.lastState].some((state) => state?.running ?? state?.terminated));
  return everRan
    ? { state: 'started', startedAt: startOf(status) }
    : { state: 'never-started', scheduled: pod.spec.nodeName !== undefined };
};

const startOf = ({ state, lastState }: ContainerStatus): number | undefined => {
  const run = state?.running ?? state?.terminated ?? lastState?.terminated;
  return run?.startedAt ? Date.parse(run.startedAt) : undefined;
};

const othersStartOf = ({ status }: Pod): number | undefined => {
  const starts = (status?.containerStatuses ?? []).flatMap(({ name, state }) => {
    const startedAt = state?.running?.startedAt;
    return startedAt && name !== AGENT_CONTAINER ? [Date.parse(startedAt)] : [];
  });
  return starts.length > 0 ? Math.max(...starts) : undefined;
};

const whyNotReady = (pod: Pod): Pick<CnfPod, 'notReady' | 'troubled'> => {
  const scheduled = conditionOf(pod, 'PodScheduled');
  if (scheduled?.status === 'False')
    return {
      notReady: `the pod is not scheduled${scheduled.reason ? ` (${scheduled.reason})` : ''}`,
      // One behind a gate waits as it is meant to, and its Events say for what.
      troubled: scheduled.reason !== 'SchedulingGated',
    };
  const unready = statusesOf(pod).filter(isUnready);
  if (unready.length === 0) return { notReady: 'the pod is not ready', troubled: false };
  return {
    notReady: few(unready.map(problemOf)),
    troubled: unready.some((status) => {
      const reason = lastingReasonOf(status);
      return reason !== undefined && !STARTING.has(reason);
    }),
  };
};

// An init container that is done is not ready, and need not be.
const isUnready = ({ ready, state }: ContainerStatus): boolean =>
  !ready && state?.terminated?.reason !== 'Completed';

const problemOf = (status: ContainerStatus): string => {
  const reason = lastingReasonOf(status);
  return `container ${status.name} is not ready${reason === undefined ? '' : ` (${reason})`}`;
};

const STARTING: ReadonlySet<string> = new Set(['ContainerCreating', 'PodInitializing']);

/** The kubelet goes from one to the other at each try. */
const ALTERNATING: ReadonlyMap<string, string> = new Map([
  ['ErrImagePull', 'ImagePullBackOff'],
  ['RunContainerError', 'CrashLoopBackOff'],
]);

/** A container that ends again and again is running, has ended or waits, by turns. */
const lastingReasonOf = ({ state, lastState }: ContainerStatus): string | undefined => {
  const ended = state?.terminated ?? lastState?.terminated;
  if (ended) return `it has ended: ${ended.reason ?? 'Error'}`;
  const waiting = state?.waiting?.reason;
  return waiting === undefined ? undefined : (ALTERNATING.get(waiting) ?? waiting);
};
