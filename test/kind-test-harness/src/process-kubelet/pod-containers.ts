/** The containers of one pod: their states, what runs of them, and how they start and stop. */
import { join } from 'node:path';

import type { Container, Pod, Probe } from '../kube/objects.ts';
import {
  createContainerState,
  onConfigError,
  onEnded,
  onImageMissing,
  onProbed,
  onStarted,
  type ContainerState,
} from './container-state.ts';
import type { KubeletContext } from './context.ts';
import { ContainerConfigError, type PodFacts } from './environment.ts';
import { wantsStart } from './plan.ts';
import { findPort, portsOfPod } from './pod-ports.ts';
import { prepareContainer } from './prepare.ts';
import type { ProbeKind } from './prober.ts';
import { runContainer, type RunningContainer } from './running-container.ts';
import type { PodVolumes } from './volumes.ts';

export type PodContainersDeps = {
  context: KubeletContext;
  /** The pod as last seen. */
  pod: () => Pod;
  podDirectory: string;
  facts: PodFacts;
  volumes: PodVolumes;
  /** A container's state has changed. */
  onChange: () => void;
};

export type PodContainers = {
  /** In the order of the spec, init containers first. */
  states: () => readonly ContainerState[];
  /** Whatever stands in the way becomes the container's state; never rejects for that. */
  start: (name: string) => Promise<void>;
  /** SIGTERM now, SIGKILL at the deadline, ms since the epoch. Resolves when it has ended. */
  stop: (name: string, deadline: number) => Promise<void>;
  isRunning: (name: string) => boolean;
  /**
   * Takes over what may change in a living pod: a container with a new image is restarted with it.
   */
  adopt: (pod: Pod) => void;
  abandon: () => void;
};

const DEFAULT_GRACE_SECONDS = 30;

/** The grace that the pod's spec gives its containers, in ms. */
export const graceOf = ({ spec }: Pod): number =>
  (spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS) * 1000;

export const createPodContainers = (deps: PodContainersDeps): PodContainers => {
  const { context, podDirectory, facts } = deps;
  const { now, events } = context;
  const states = new Map(initialStates(deps.pod()).map((state) => [state.spec.name, state]));
  const running = new Map<string, RunningContainer>();

  const change = (name: string, next: (state: ContainerState) => ContainerState) => {
    const state = states.get(name);
    if (!state) return;
    states.set(name, next(state));
    deps.onChange();
  };
  const event = (type: 'Normal' | 'Warning', reason: string, message: string) =>
    events.record(deps.pod(), type, reason, message);

  const onUnhealthy = (container: Container, kind: ProbeKind, probe: Probe) => {
    event(
      'Normal',
      'Killing',
      `Container ${container.name} failed ${kind} probe, will be restarted`,
    );
    const graceMs = (probe.terminationGracePeriodSeconds ?? 0) * 1000 || graceOf(deps.pod());
    void running.get(container.name)?.stop(now() + graceMs);
  };

  const sayBackOff = (name: string) => {
    const state = states.get(name);
    const policy = deps.pod().spec.restartPolicy ?? 'Always';
    if (!state || state.notBefore <= now() || !wantsStart(state, policy)) return;
    event('Warning', 'BackOff', `Back-off restarting failed container ${name}`);
  };

  const launch = async (container: Container): Promise<void> => {
    const { name, image } = container;
    const pod = deps.pod();
    const entry = context.images.find(image);
    if (!entry) {
      const known = context.images.names().join(', ') || 'none';
      const why = `no process is registered for it; there is: ${known}`;
      change(name, (state) => onImageMissing(state, why, now()));
      event('Warning', 'Failed', `Failed to pull image "${image}": ${why}`);
      return;
    }
    const prepared = await prepareContainer({
      pod,
      container,
      image: entry,
      directory: join(podDirectory, 'containers', name),
      volumes: deps.volumes,
      facts,
      sources: context.sourcesOf(pod.metadata.namespace),
      ports: portsOfPod(pod, context.images),
      services: context.services,
    });
    if (context.signal.aborted) return;
    const startedAt = now();
    const run = runContainer({
      container,
      prepared,
      podDirectory,
      podIP: facts.podIP,
      logFile: join(
        context.logsDirectory,
        pod.metadata.namespace,
        pod.metadata.name,
        `${name}.log`,
      ),
      port: (port) => findPort(container, port, portsOfPod(deps.pod(), context.images)),
      onStarted: () => change(name, (state) => onProbed(state, { started: true })),
      onReady: (ready) => change(name, (state) => onProbed(state, { ready })),
      onUnhealthy: (kind, probe) => onUnhealthy(container, kind, probe),
      onProbeFailure: (kind, message) => {
        event('Warning', 'Unhealthy', `${capitalize(kind)} probe failed: ${message}`);
      },
      onHookFailure: (hook, message) => event('Warning', `Failed${hook}Hook`, message),
    });
    running.set(name, run);
    change(name, (state) => onStarted(state, run.containerId, startedAt));
    event('Normal', 'Started', `Container started: ${name}`);
    void (async () => {
      const end = await run.ended;
      running.delete(name);
      const { containerId } = run;
      const termination = { ...end, startedAt, finishedAt: now(), containerId };
      change(name, (state) => onEnded(state, termination));
      sayBackOff(name);
    })();
  };

  return {
    states: () => [...states.values()],
    start: async (name) => {
      const container = states.get(name)?.spec;
      if (!container || running.has(name)) return;
      try {
        await launch(container);
      } catch (error) {
        if (!(error instanceof ContainerConfigError)) context.onError(error);
        const message = error instanceof Error ? error.message : String(error);
        change(name, (state) => onConfigError(state, message, now()));
        event('Warning', 'Failed', `Error: ${message}`);
      }
    },
    stop: async (name, deadline) => {
      await running.get(name)?.stop(deadline);
    },
    isRunning: (name) => running.has(name),
    adopt: (pod) => {
      for (const { name, image } of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
        const state = states.get(name);
        if (!state || state.spec.image === image) continue;
        states.set(name, { ...state, spec: { ...state.spec, image }, notBefore: 0 });
        event('Normal', 'Killing', `Container ${name} definition changed, will be restarted`);
        void running.get(name)?.stop(now() + graceOf(pod));
      }
    },
    abandon: () => {
      for (const run of running.values()) run.abandon();
    },
  };
};

const initialStates = ({ spec }: Pod): ContainerState[] => [
  ...(spec.initContainers ?? []).map((container) =>
    createContainerState(container, container.restartPolicy === 'Always' ? 'sidecar' : 'init'),
  ),
  ...spec.containers.map((container) => createContainerState(container, 'main')),
];

const capitalize = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
