/**
 * One run of a container with all that belongs to it: process, probes, hooks, record on disk, and
 * its orderly end.
 */
import { randomBytes } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import type { Container, Handler, Probe } from '../kube/objects.ts';
import { CONTAINER_MARK } from '../processes.ts';
import { containerRecordFile, type ContainerRecord } from './access.ts';
import { startProcess, type ProcessEnd } from './container-process.ts';
import { rewritePaths } from './mounts.ts';
import type { Prepared } from './prepare.ts';
import { attempt, type ProbeTarget } from './probe.ts';
import { runProbes, type ProbeKind } from './prober.ts';

/** A kubelet's limit for what a container says at its end. */
const MAX_MESSAGE_CHARS = 4096;
const DEFAULT_MESSAGE_PATH = '/dev/termination-log';
/** As container runtimes have it: 64 hex digits. */
const CONTAINER_ID_BYTES = 32;
/** Hooks have no timeout of their own; the grace period bounds preStop, this bounds postStart. */
const POST_START_TIMEOUT_MS = 60_000;

export type RunningDeps = {
  container: Container;
  prepared: Prepared;
  podDirectory: string;
  podIP: string;
  logFile: string;
  /** The port of this machine that stands for a port of the container. */
  port: (port: number | string) => number;
  onStarted: () => void;
  onReady: (ready: boolean) => void;
  onUnhealthy: (kind: ProbeKind, probe: Probe) => void;
  onProbeFailure: (kind: ProbeKind, message: string) => void;
  onHookFailure: (hook: 'PostStart' | 'PreStop', message: string) => void;
};

export type RunningContainer = {
  containerId: string;
  ended: Promise<ProcessEnd>;
  /**
   * preStop, SIGTERM, and SIGKILL at the deadline (ms since the epoch). Calling it again can only
   * bring the deadline forward. Resolves when the container has ended.
   */
  stop: (deadline: number) => Promise<void>;
  /** Ends the probes, without the container: the harness is going down. */
  abandon: () => void;
};

export const runContainer = (deps: RunningDeps): RunningContainer => {
  const { container, prepared, podDirectory } = deps;
  const containerId = randomBytes(CONTAINER_ID_BYTES).toString('hex');
  // Probes and hooks bear the mark too: they end with the container.
  const env = { ...prepared.env, [CONTAINER_MARK]: containerId };
  const process = startProcess({ ...prepared, containerId, env, logFile: deps.logFile });
  const recordFile = containerRecordFile(podDirectory, container.name);
  if (process.pid !== undefined) {
    const { workingDirectory, mounts } = prepared;
    writeRecord(recordFile, { containerId, pid: process.pid, env, workingDirectory, mounts });
  }

  const probing = new AbortController();
  const target: ProbeTarget = {
    podIP: deps.podIP,
    port: deps.port,
    env,
    workingDirectory: prepared.workingDirectory,
    localPath: (text) => rewritePaths(text, prepared.mounts),
  };
  const hook = async (name: 'PostStart' | 'PreStop', handler: Handler, timeoutMs: number) => {
    const result = await attempt(handler, target, timeoutMs);
    if (!result.ok) deps.onHookFailure(name, result.message);
  };

  const { postStart, preStop } = container.lifecycle ?? {};
  void (async () => {
    if (postStart) await hook('PostStart', postStart, POST_START_TIMEOUT_MS);
    const probes = { ...deps, target, onFailure: deps.onProbeFailure, signal: probing.signal };
    await runProbes(container, probes);
  })();

  const ended = process.ended.then(async (end) => {
    probing.abort();
    rmSync(recordFile, { force: true });
    return { ...end, ...(await readMessage(container, prepared)) };
  });

  let killTimer: NodeJS.Timeout | undefined;
  let killAt = Infinity;
  let stopping: Promise<void> | undefined;
  const terminate = async () => {
    if (preStop) await Promise.race([hook('PreStop', preStop, killAt - Date.now()), ended]);
    process.signal('SIGTERM');
    await ended;
    clearTimeout(killTimer);
  };

  return {
    containerId,
    ended,
    stop: async (deadline) => {
      if (deadline < killAt) {
        killAt = deadline;
        clearTimeout(killTimer);
        killTimer = setTimeout(() => process.signal('SIGKILL'), deadline - Date.now());
      }
      stopping ??= terminate();
      await stopping;
    },
    abandon: () => {
      probing.abort();
      clearTimeout(killTimer);
    },
  };
};

const writeRecord = (file: string, record: ContainerRecord): void => {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify(record), { mode: 0o600 });
};

const readMessage = async (
  { terminationMessagePath = DEFAULT_MESSAGE_PATH }: Container,
  { mounts }: Prepared,
): Promise<{ message?: string }> => {
  const text = await readFile(join(mounts.root, terminationMessagePath), 'utf8').catch(() => '');
  return text ? { message: text.slice(0, MAX_MESSAGE_CHARS) } : {};
};
