/**
 * One pod from the moment it is bound to this node until it is gone. Level-triggered: whatever happens only asks for
 * another pass, and a pass compares what the pod wants with what runs.
 */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

import type { Pod } from '../kube/objects.ts';
import type { KubeletContext } from './context.ts';
import { planPod } from './plan.ts';
import { createPodContainers, graceOf } from './pod-containers.ts';
import { linkByName, unlinkByName } from './pod-links.ts';
import { buildPodStatus } from './pod-status.ts';
import { createStatusWriter } from './status-writer.ts';
import { createPodTokens } from './tokens.ts';
import { listUnsupported } from './unsupported.ts';
import { createPodVolumes } from './volumes.ts';

/** Asks for a pod's own loopback address, for a server that others must find at the same place after its pod was replaced. */
export const POD_IP_ANNOTATION = 'kind-test-harness/pod-ip';

/** A kubelet gives this to a sidecar even when its pod has used up its grace period (measured). */
const SIDECAR_MINIMUM_GRACE_MS = 2000;
const FORCED_GRACE_MS = 1000;
const MOUNT_RETRY_MS = 250;
const VOLUME_RETRY_MS = 5000;

export type PodWorker = {
  /** The pod as it is now on the API server. */
  update: (pod: Pod) => void;
  /** The pod is gone from the API server; what runs of it is ended. */
  remove: () => void;
  /** Objects that its volumes are made of may have changed. */
  refreshVolumes: () => void;
  isRunning: (namespace: string, pod: string, container: string) => boolean;
  /** Lets go without ending anything: that is the guardian's. */
  abandon: () => void;
};

export const createPodWorker = (
  first: Pod,
  context: KubeletContext,
  onGone: () => void,
): PodWorker => {
  const { client, now, events } = context;
  const { namespace, name, uid } = first.metadata;
  const podDirectory = join(context.podsDirectory, uid);
  const startTime = now();
  const podIP = first.metadata.annotations?.[POD_IP_ANNOTATION] ?? context.addresses.take();
  const facts = { podIP, hostIP: context.hostIP, nodeName: context.nodeName };
  const tokens = createPodTokens(first, {
    client,
    now,
    renewAfterMs: context.renewTokensAfterMs,
  });
  const volumes = createPodVolumes({
    directory: join(podDirectory, 'volumes'),
    sources: context.sourcesOf(namespace),
    tokens,
    facts,
  });
  const writer = createStatusWriter(first, context);

  let pod = first;
  let previous = first.status?.conditions ?? [];
  let isSetUp = false;
  let finished: 'Succeeded' | 'Failed' | undefined;
  let ending: Promise<void> | undefined;
  let deadline = Infinity;
  let volumesStale = false;
  let running = false;
  let again = false;
  let wakeTimer: NodeJS.Timeout | undefined;

  const pass = () => {
    again = true;
    if (!running) void runPasses();
  };
  const runPasses = async () => {
    running = true;
    while (again && !context.signal.aborted) {
      again = false;
      await onePass().catch((error: unknown) => {
        context.onError(error);
        wakeIn(MOUNT_RETRY_MS);
      });
    }
    running = false;
  };
  const wakeIn = (ms: number) => {
    clearTimeout(wakeTimer);
    wakeTimer = setTimeout(pass, Math.max(0, ms));
  };
  const containers = createPodContainers({
    context,
    pod: () => pod,
    podDirectory,
    facts,
    volumes,
    onChange: pass,
  });

  const publish = () => {
    const status = buildPodStatus({
      pod,
      previous,
      containers: containers.states(),
      finished,
      podIP,
      hostIP: context.hostIP,
      startTime,
      isSetUp,
      now: now(),
    });
    previous = status.conditions ?? [];
    writer.publish(status);
  };

  const onePass = async (): Promise<void> => {
    clearTimeout(wakeTimer);
    if (pod.metadata.deletionTimestamp !== undefined) terminate(deletionGraceOf(pod));
    if (ending || finished) return publish();
    if (!(await setUp())) return;
    const plan = planPod(containers.states(), pod.spec.restartPolicy ?? 'Always', now());
    for (const { spec } of plan.start) {
      if (!ending) await containers.start(spec.name);
    }
    if (plan.finished) finish(plan.finished);
    publish();
    const wakeAt = Math.min(plan.wakeAt ?? Infinity, tokens.renewAt() ?? Infinity);
    if (wakeAt < Infinity) wakeIn(wakeAt - now());
  };

  /** False when the volumes aren't there yet; it will be tried again. */
  const setUp = async (): Promise<boolean> => {
    const renewAt = tokens.renewAt() ?? Infinity;
    if (isSetUp && !volumesStale && now() < renewAt) return true;
    volumesStale = false;
    try {
      await volumes.sync(pod);
      isSetUp = true;
      return true;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      events.record(pod, 'Warning', 'FailedMount', message);
      publish();
      volumesStale = true;
      wakeIn(isSetUp ? VOLUME_RETRY_MS : MOUNT_RETRY_MS);
      return isSetUp; // a volume that can't be refreshed stays as it is
    }
  };

  /** The main containers are through: the sidecars have nothing left to serve. */
  const finish = (phase: 'Succeeded' | 'Failed') => {
    finished = phase;
    void stopAll(now() + graceOf(pod)).then(publish);
  };

  /** Main containers at once; then the sidecars, in the reverse order of their start. */
  const stopAll = async (until: number): Promise<void> => {
    const bound = (role: string) =>
      role === 'sidecar' ? Math.max(until, now() + SIDECAR_MINIMUM_GRACE_MS) : until;
    const states = containers.states();
    const others = states.filter(({ role }) => role !== 'sidecar');
    await Promise.all(others.map(async ({ spec }) => await containers.stop(spec.name, until)));
    for (const { spec, role } of states.filter((each) => each.role === 'sidecar').reverse()) {
      await containers.stop(spec.name, bound(role));
    }
  };

  const terminate = (graceMs: number) => {
    const until = now() + graceMs;
    if (until >= deadline) return;
    const isFirst = ending === undefined;
    deadline = until;
    if (isFirst) {
      for (const { spec } of containers
        .states()
        .filter((each) => containers.isRunning(each.spec.name))) {
        events.record(pod, 'Normal', 'Killing', `Stopping container ${spec.name}`);
      }
      ending = end();
    } else {
      // A shorter grace reaches the containers that are already stopping.
      for (const { spec, role } of containers.states()) {
        if (role !== 'sidecar') void containers.stop(spec.name, deadline);
      }
    }
  };

  const end = async (): Promise<void> => {
    await stopAll(deadline);
    const failed = containers
      .states()
      .some(
        ({ role, phase }) =>
          role === 'main' && !(phase.kind === 'terminated' && phase.exitCode === 0),
      );
    finished ??= failed ? 'Failed' : 'Succeeded';
    publish();
    await writer.flush();
    await client
      .delete(`/api/v1/namespaces/${namespace}/pods/${name}`, {
        gracePeriodSeconds: 0,
        preconditions: { uid },
      })
      .catch(() => {}); // gone already, or a successor has its name
    await cleanUp();
  };

  const cleanUp = async (): Promise<void> => {
    clearTimeout(wakeTimer);
    await unlinkByName(context.podsDirectory, first);
    await rm(podDirectory, { recursive: true, force: true });
    context.addresses.give(podIP);
    events.forget(first);
    onGone();
  };

  const start = async () => {
    await mkdir(podDirectory, { recursive: true });
    await linkByName(context.podsDirectory, first);
    const unsupported = listUnsupported(first);
    if (unsupported.length > 0) {
      const list = unsupported.join(', ');
      events.record(
        first,
        'Warning',
        'NotEmulated',
        `processes of this machine do without: ${list}`,
      );
    }
    pass();
  };
  void start().catch(context.onError);

  return {
    update: (next) => {
      volumesStale ||= isSetUp && hasNewMetadata(pod, next);
      pod = next;
      pass();
    },
    remove: () => terminate(FORCED_GRACE_MS),
    refreshVolumes: () => {
      volumesStale = true;
      pass();
    },
    isRunning: (ofNamespace, ofPod, container) =>
      ofNamespace === namespace && ofPod === name && containers.isRunning(container),
    abandon: () => {
      clearTimeout(wakeTimer);
      containers.abandon();
    },
  };
};

/** Forced deletions ask for none; a kubelet gives a second. */
const deletionGraceOf = (pod: Pod): number =>
  Math.max(
    pod.metadata.deletionGracePeriodSeconds === undefined
      ? graceOf(pod)
      : pod.metadata.deletionGracePeriodSeconds * 1000,
    FORCED_GRACE_MS,
  );

/** Labels and annotations are what downward-API volumes follow. */
const hasNewMetadata = (before: Pod, after: Pod): boolean =>
  JSON.stringify([before.metadata.labels, before.metadata.annotations]) !==
  JSON.stringify([after.metadata.labels, after.metadata.annotations]);
