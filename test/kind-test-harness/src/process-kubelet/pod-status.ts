/**
 * The status of a pod as a kubelet writes it. Pure: a function of the containers' states and of the
 * status before.
 */
import type {
  ContainerStateStatus,
  ContainerStatus,
  Pod,
  PodCondition,
  PodStatus,
} from '../kube/objects.ts';
import type { ContainerState, Termination } from './container-state.ts';
import { isInitialized, wantsStart } from './plan.ts';

export type StatusInput = {
  pod: Pod;
  /** Conditions as the kubelet last wrote them, which the pod may not show yet. */
  previous: readonly PodCondition[];
  containers: readonly ContainerState[];
  /** The end of the pod, when it has come. */
  finished?: 'Succeeded' | 'Failed' | undefined;
  podIP: string;
  hostIP: string;
  /** When the kubelet first saw the pod. */
  startTime: number;
  /** Volumes are there: what real kubelets call sandbox and network. */
  isSetUp: boolean;
  now: number;
};

/** Only what the kubelet owns; merged into the rest by the API server. */
export const buildPodStatus = (input: StatusInput): PodStatus => {
  const { pod, containers, podIP, hostIP } = input;
  const statuses = (main: boolean) =>
    containers
      .filter(({ role }) => (role === 'main') === main)
      .map((container) => toContainerStatus(container, pod, input.now));
  const generation = pod.metadata.generation;
  return {
    phase: input.finished ?? phaseOf(containers),
    ...(generation !== undefined && { observedGeneration: generation }),
    conditions: conditionsOf(input),
    hostIP,
    hostIPs: [{ ip: hostIP }],
    podIP,
    podIPs: [{ ip: podIP }],
    startTime: toTime(input.startTime),
    initContainerStatuses: statuses(false),
    containerStatuses: statuses(true),
  };
};

const toTime = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');

const phaseOf = (containers: readonly ContainerState[]): string =>
  isInitialized(containers) &&
  containers.some(
    ({ role, phase, lastTermination }) =>
      role === 'main' && (phase.kind !== 'waiting' || lastTermination !== undefined),
  )
    ? 'Running'
    : 'Pending';

const conditionsOf = (input: StatusInput): PodCondition[] => {
  const { pod, containers, finished } = input;
  const initialized = isInitialized(containers);
  const unready = containers
    .filter(({ role, ready }) => role !== 'init' && !ready)
    .map(({ spec }) => spec.name);
  const notReady: Pick<PodCondition, 'reason' | 'message'> =
    finished === 'Succeeded'
      ? { reason: 'PodCompleted' }
      : finished === 'Failed'
        ? { reason: 'PodFailed' }
        : {
            reason: 'ContainersNotReady',
            message: `containers with unready status: [${unready.join(' ')}]`,
          };
  const containersReady = unready.length === 0 && finished === undefined;
  const missingGate = (pod.spec.readinessGates ?? []).find(
    ({ conditionType }) => conditionOf(pod, conditionType)?.status !== 'True',
  );
  const notInitialized = {
    reason: 'ContainersNotInitialized',
    message: `containers with incomplete status: [${incompleteInit(containers).join(' ')}]`,
  };
  const readiness =
    containersReady && missingGate
      ? {
          reason: 'ReadinessGatesNotReady',
          message: `corresponding condition of pod readiness gate "${missingGate.conditionType}" does not exist or is not "True".`,
        }
      : notReady;

  const condition = (type: string, holds: boolean, why: Partial<PodCondition> = {}) =>
    withTransition(input, { type, status: holds ? 'True' : 'False', ...(!holds && why) });
  return [
    condition('PodReadyToStartContainers', input.isSetUp && finished === undefined),
    condition('Initialized', initialized, notInitialized),
    condition('ContainersReady', containersReady, notReady),
    condition('Ready', containersReady && !missingGate, readiness),
  ];
};

const incompleteInit = (containers: readonly ContainerState[]): string[] =>
  containers
    .filter(({ role, phase, started }) =>
      role === 'init'
        ? phase.kind !== 'terminated' || phase.exitCode !== 0
        : role === 'sidecar' && !started,
    )
    .map(({ spec }) => spec.name);

const conditionOf = (pod: Pod, type: string): PodCondition | undefined =>
  pod.status?.conditions?.find((condition) => condition.type === type);

/** The time stays as it was while the status does. */
const withTransition = (
  { pod, previous, now }: StatusInput,
  condition: PodCondition,
): PodCondition => {
  const before =
    previous.find(({ type }) => type === condition.type) ?? conditionOf(pod, condition.type);
  const unchanged = before?.status === condition.status && before.lastTransitionTime;
  return { ...condition, lastTransitionTime: unchanged ? unchanged : toTime(now) };
};

const toContainerStatus = (state: ContainerState, pod: Pod, now: number): ContainerStatus => {
  const { spec, phase, lastTermination } = state;
  const id = phase.kind === 'waiting' ? lastTermination?.containerId : phase.containerId;
  const policy = pod.spec.restartPolicy ?? 'Always';
  const isBackingOff =
    phase.kind === 'terminated' && state.notBefore > now && wantsStart(state, policy);
  return {
    name: spec.name,
    image: spec.image,
    imageID: id === undefined ? '' : `process://${spec.image}`,
    ...(id !== undefined && { containerID: `process://${id}` }),
    state: isBackingOff ? crashLoop(state, pod) : toStateStatus(phase),
    lastState: lastStateOf(state, isBackingOff),
    ready:
      state.role === 'init' ? phase.kind === 'terminated' && phase.exitCode === 0 : state.ready,
    started: state.role !== 'init' && state.started,
    restartCount: state.restartCount,
  };
};

const crashLoop = (state: ContainerState, { metadata }: Pod): ContainerStateStatus => {
  const { phase, notBefore, spec } = state;
  const delay = phase.kind === 'terminated' ? Math.round((notBefore - phase.finishedAt) / 1000) : 0;
  const pod = `${metadata.name}_${metadata.namespace}(${metadata.uid})`;
  return {
    waiting: {
      reason: 'CrashLoopBackOff',
      message: `back-off ${delay}s restarting failed container=${spec.name} pod=${pod}`,
    },
  };
};

const lastStateOf = (
  { phase, lastTermination }: ContainerState,
  isBackingOff: boolean,
): ContainerStateStatus => {
  const last = isBackingOff && phase.kind === 'terminated' ? phase : lastTermination;
  return last ? { terminated: toTermination(last) } : {};
};

const toStateStatus = (phase: ContainerState['phase']): ContainerStateStatus => {
  if (phase.kind === 'terminated') return { terminated: toTermination(phase) };
  if (phase.kind === 'running') return { running: { startedAt: toTime(phase.startedAt) } };
  const { reason, message } = phase;
  return { waiting: { reason, ...(message !== undefined && { message }) } };
};

const toTermination = (end: Termination): NonNullable<ContainerStateStatus['terminated']> => ({
  exitCode: end.exitCode,
  reason: end.reason,
  ...(end.message !== undefined && { message: end.message }),
  startedAt: toTime(end.startedAt),
  finishedAt: toTime(end.finishedAt),
  containerID: `process://${end.containerId}`,
});
