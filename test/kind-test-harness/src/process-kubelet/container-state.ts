/**
 * What the kubelet knows about one container. Pure: what happened is handed in, the next state
 * comes out.
 */
import type { Container } from '../kube/objects.ts';

/** `init` runs to its end before the next starts; a `sidecar` is an init container that stays. */
export type ContainerRole = 'init' | 'sidecar' | 'main';

export type Termination = {
  exitCode: number;
  reason: string;
  message?: string | undefined;
  /** Times are ms since the epoch. */
  startedAt: number;
  finishedAt: number;
  containerId: string;
};

export type Phase =
  | { kind: 'waiting'; reason: string; message?: string | undefined }
  | { kind: 'running'; startedAt: number; containerId: string }
  | ({ kind: 'terminated' } & Termination);

export type ContainerState = {
  readonly spec: Container;
  readonly role: ContainerRole;
  readonly phase: Phase;
  readonly lastTermination?: Termination | undefined;
  readonly restartCount: number;
  /** The startup probe has passed (or there is none), in this run. */
  readonly started: boolean;
  /** What the readiness probe says, in this run; without a probe, the same as `started`. */
  readonly ready: boolean;
  /** Not before this time may it start (again). */
  readonly notBefore: number;
  /** Delay that the next failure brings. */
  readonly nextDelayMs: number;
};

/** Doubling delays between restarts. */
export type Backoff = { initialMs: number; maxMs: number };

/**
 * Kubernetes' own quicker curve (KEP-4603, gate ReduceDefaultCrashLoopBackOffDecay) rather than the
 * default 10 s to 5 min: tests that kill containers have no time for the latter.
 */
export const RESTART_BACKOFF: Backoff = { initialMs: 1000, maxMs: 60_000 };
export const IMAGE_BACKOFF: Backoff = { initialMs: 1000, maxMs: 10_000 };
const CONFIG_RETRY_MS = 1000;
/** A container that has run this long is given the short delays again. */
const RESET_AFTER_MS = 600_000;

export const createContainerState = (spec: Container, role: ContainerRole): ContainerState => ({
  spec,
  role,
  phase: { kind: 'waiting', reason: role === 'main' ? 'PodInitializing' : 'ContainerCreating' },
  restartCount: 0,
  started: false,
  ready: false,
  notBefore: 0,
  nextDelayMs: 0,
});

export const hasRun = (state: ContainerState): boolean =>
  state.phase.kind !== 'waiting' || state.lastTermination !== undefined;

export const onStarted = (
  state: ContainerState,
  containerId: string,
  now: number,
): ContainerState => {
  const started = state.spec.startupProbe === undefined;
  return {
    ...state,
    phase: { kind: 'running', startedAt: now, containerId },
    restartCount: hasRun(state) ? state.restartCount + 1 : 0,
    lastTermination: state.phase.kind === 'terminated' ? state.phase : state.lastTermination,
    started,
    ready: started && state.spec.readinessProbe === undefined,
  };
};

/**
 * The first restart comes at once; from then on the delay doubles, until the container has lived
 * for long.
 */
export const onEnded = (state: ContainerState, end: Termination): ContainerState => {
  const livedLong = end.finishedAt - end.startedAt > RESET_AFTER_MS;
  const delayMs = livedLong ? 0 : state.nextDelayMs;
  return {
    ...state,
    phase: { kind: 'terminated', ...end },
    started: false,
    ready: false,
    notBefore: end.finishedAt + delayMs,
    nextDelayMs: Math.min(Math.max(delayMs * 2, RESTART_BACKOFF.initialMs), RESTART_BACKOFF.maxMs),
  };
};

/** Nothing on this machine stands for the image; it may be registered later. */
export const onImageMissing = (state: ContainerState, why: string, now: number): ContainerState => {
  const again = state.phase.kind === 'waiting' && state.phase.reason.startsWith('Err');
  const delayMs = Math.min(
    Math.max(state.nextDelayMs * 2, IMAGE_BACKOFF.initialMs),
    IMAGE_BACKOFF.maxMs,
  );
  const { image } = state.spec;
  return {
    ...state,
    phase: again
      ? {
          kind: 'waiting',
          reason: 'ImagePullBackOff',
          message: `Back-off pulling image "${image}"`,
        }
      : {
          kind: 'waiting',
          reason: 'ErrImagePull',
          message: `image "${image}": ${why}`,
        },
    notBefore: now + delayMs,
    nextDelayMs: delayMs,
  };
};

export const onConfigError = (
  state: ContainerState,
  message: string,
  now: number,
): ContainerState => ({
  ...state,
  phase: { kind: 'waiting', reason: 'CreateContainerConfigError', message },
  lastTermination: state.phase.kind === 'terminated' ? state.phase : state.lastTermination,
  notBefore: now + CONFIG_RETRY_MS,
});

export const onProbed = (
  state: ContainerState,
  change: { started?: boolean; ready?: boolean },
): ContainerState => ({ ...state, ...change });
