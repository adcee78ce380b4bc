/**
 * Runs the probes of one running container: startup first, then readiness and liveness side by
 * side, until `signal`.
 */
import { setTimeout as sleep } from 'node:timers/promises';

import type { Container, Probe } from '../kube/objects.ts';
import { attempt, type ProbeTarget } from './probe.ts';

export type ProbeKind = 'startup' | 'readiness' | 'liveness';

export type ProberDeps = {
  target: ProbeTarget;
  onStarted: () => void;
  onReady: (ready: boolean) => void;
  /** Startup or liveness has failed for good: the container must be killed. */
  onUnhealthy: (kind: ProbeKind, probe: Probe) => void;
  /** A failed attempt, for an Event. */
  onFailure: (kind: ProbeKind, message: string) => void;
  signal: AbortSignal;
};

export const runProbes = async (container: Container, deps: ProberDeps): Promise<void> => {
  const { startupProbe, readinessProbe, livenessProbe } = container;
  if (startupProbe) {
    const passed = await untilDecided('startup', startupProbe, deps);
    if (deps.signal.aborted) return;
    if (!passed) return deps.onUnhealthy('startup', startupProbe);
    deps.onStarted();
    if (!readinessProbe) deps.onReady(true);
  }
  const others = [];
  if (readinessProbe) others.push(probeReadiness(readinessProbe, deps));
  if (livenessProbe) others.push(probeLiveness(livenessProbe, deps));
  await Promise.all(others);
};

const untilDecided = async (
  kind: ProbeKind,
  probe: Probe,
  deps: ProberDeps,
): Promise<boolean | undefined> => {
  for await (const { ok, inARow } of attempts(kind, probe, deps)) {
    if (ok && inARow >= probe.successThreshold) return true;
    if (!ok && inARow >= probe.failureThreshold) return false;
  }
  return undefined;
};

const probeReadiness = async (probe: Probe, deps: ProberDeps): Promise<void> => {
  for await (const { ok, inARow } of attempts('readiness', probe, deps)) {
    if (inARow === (ok ? probe.successThreshold : probe.failureThreshold)) deps.onReady(ok);
  }
};

const probeLiveness = async (probe: Probe, deps: ProberDeps): Promise<void> => {
  for await (const { ok, inARow } of attempts('liveness', probe, deps)) {
    if (!ok && inARow >= probe.failureThreshold) return deps.onUnhealthy('liveness', probe);
  }
};

/** An attempt each period; `inARow` counts equal results. */
async function* attempts(
  kind: ProbeKind,
  probe: Probe,
  { target, onFailure, signal }: ProberDeps,
): AsyncGenerator<{ ok: boolean; inARow: number }> {
  const pause = async (seconds: number) =>
    await sleep(seconds * 1000, undefined, { signal }).catch(() => {});
  let last: boolean | undefined;
  let inARow = 0;

  if (probe.initialDelaySeconds) await pause(probe.initialDelaySeconds);
  while (!signal.aborted) {
    const startedAt = Date.now();
    const result = await attempt(probe, target, probe.timeoutSeconds * 1000);
    if (signal.aborted) return;
    if (!result.ok) onFailure(kind, result.message);
    inARow = result.ok === last ? inARow + 1 : 1;
    last = result.ok;
    yield { ok: result.ok, inARow };
    await pause(Math.max(0, probe.periodSeconds - (Date.now() - startedAt) / 1000));
  }
}
