/**
 * Decides what a pod's containers do next. Pure; the pod worker asks it again after everything that
 * happens.
 */
import { hasRun, type ContainerState } from './container-state.ts';

export type RestartPolicy = 'Always' | 'OnFailure' | 'Never';

export type Plan = {
  /** Containers to start now, in this order. */
  start: readonly ContainerState[];
  /** When to ask again if nothing happens before, ms since the epoch. */
  wakeAt?: number;
  /** All is over: what is left of sidecars must end, and the pod has this phase. */
  finished?: 'Succeeded' | 'Failed';
};

/** `containers` in the order of the spec, init containers first. */
export const planPod = (
  containers: readonly ContainerState[],
  restartPolicy: RestartPolicy,
  now: number,
): Plan => {
  const main = containers.filter(({ role }) => role === 'main');
  if (main.every((container) => isOver(container, restartPolicy))) {
    const failed = main.some(({ phase }) => phase.kind === 'terminated' && phase.exitCode !== 0);
    return { start: [], finished: failed ? 'Failed' : 'Succeeded' };
  }

  const init = containers.filter(({ role }) => role !== 'main');
  const initialized = main.some(hasRun);
  const wanted: ContainerState[] = [];
  for (const container of init) {
    // Once the pod was initialized, only its sidecars come back.
    if (initialized && container.role === 'init') continue;
    if (hasFailedForGood(container, restartPolicy)) return { start: [], finished: 'Failed' };
    if (wantsStart(container, restartPolicy)) wanted.push(container);
    if (!initialized && !letsNextStart(container)) return withTimes(wanted, now);
  }
  wanted.push(...main.filter((container) => wantsStart(container, restartPolicy)));
  return withTimes(wanted, now);
};

/** All init containers have done their part: condition Initialized. */
export const isInitialized = (containers: readonly ContainerState[]): boolean =>
  containers.some((container) => container.role === 'main' && hasRun(container)) ||
  containers.filter(({ role }) => role !== 'main').every(letsNextStart);

const letsNextStart = ({ role, phase, started }: ContainerState): boolean =>
  role === 'sidecar'
    ? phase.kind === 'running' && started
    : phase.kind === 'terminated' && phase.exitCode === 0;

const restarts = (role: ContainerState['role'], policy: RestartPolicy, exitCode: number): boolean =>
  role === 'sidecar' ||
  (role === 'main' && policy === 'Always') ||
  (policy !== 'Never' && exitCode !== 0);

/** It isn't running, and its pod's policy wants it to. */
export const wantsStart = ({ role, phase }: ContainerState, policy: RestartPolicy): boolean =>
  phase.kind === 'waiting' ||
  (phase.kind === 'terminated' && restarts(role, policy, phase.exitCode));

const isOver = (container: ContainerState, policy: RestartPolicy): boolean =>
  container.phase.kind === 'terminated' && !wantsStart(container, policy);

const hasFailedForGood = (container: ContainerState, policy: RestartPolicy): boolean =>
  container.role === 'init' &&
  container.phase.kind === 'terminated' &&
  container.phase.exitCode !== 0 &&
  !wantsStart(container, policy);

const withTimes = (wanted: readonly ContainerState[], now: number): Plan => {
  const start = wanted.filter(({ notBefore }) => notBefore <= now);
  const later = wanted.filter(({ notBefore }) => notBefore > now).map((each) => each.notBefore);
  return { start, ...(later.length > 0 && { wakeAt: Math.min(...later) }) };
};
