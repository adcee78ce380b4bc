/**
 * One pod from the moment it is bound to this node until it is gone. Level-triggered: whatever
 * happens only asks for another pass, and a pass compares what the pod wants with what runs. Passes
 * of a pod never overlap.
 */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

import type { Pod } from '../kube/objects.ts';
import type { KubeletContext } from './context.ts';
import { createPasses } from './passes.ts';
import { planPod } from './plan.ts';
import { createPodContainers, graceOf } from './pod-containers.ts';
import { deletePod, deletionGraceOf, stopContainers, stopMainContainers } from './pod-ending.ts';
import { linkByName, unlinkByName } from './pod-links.ts';
import { portsOfPod } from './pod-ports.ts';
import { buildPodStatus } from './pod-status.ts';
import type { Place } from './port-forward.ts';
import { createStatusWriter } from './status-writer.ts';
import { createPodTokens } from './tokens.ts';
import { listUnsupported } from './unsupported.ts';
import { createPodVolumes } from './volumes.ts';

/**
 * Asks for a pod's own loopback address, for a server that others must find at the same place after
 * its pod was replaced.
 */
export const POD_IP_ANNOTATION = 'kind-test-harness/pod-ip';

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
  /**
   * Where a port of this pod is on this machine; undefined of another pod, and when this one has
   * ended.
   */
  placeOf: (namespace: string, pod: string, port: number) => Place | undefined;
  /** Lets go without ending anything: that is the guardian's. */
  abandon: () => void;
};

/** `onGone` is called when nothing of the pod is left, neither here nor on the API server. */
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
  const { hostIP, environment } = context;
  const { nodeName = '' } = first.spec;
  const facts = { podIP, hostIP, nodeName, environment };
  const tokens = createPodTokens(first, { client, now, renewAfterMs: context.renewTokensAfterMs });
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
  let volumesAreStale = false;
  let finished: 'Succeeded' | 'Failed' | undefined;
  let ending: Promise<void> | undefined;
  let deadline = Infinity;
  let isRemoved = false;
  let hasEnded = false;
  let unsupported = '';

  const onePass = async (): Promise<void> => {
    sayUnsupported();
    if (isRemoved || pod.metadata.deletionTimestamp !== undefined) terminate();
    if (ending || finished) return publish();
    if (!(await setUp())) return passes.wakeAt(now() + MOUNT_RETRY_MS);
    const plan = planPod(containers.states(), pod.spec.restartPolicy ?? 'Always', now());
    for (const { spec } of plan.start) await containers.start(spec.name);
    if (plan.finished) finish(plan.finished);
    publish();
    const refreshAt = volumesAreStale ? now() + VOLUME_RETRY_MS : tokens.renewAt();
    passes.wakeAt(Math.min(plan.wakeAt ?? Infinity, refreshAt ?? Infinity));
  };
  const passes = createPasses(onePass, context);
  const containers = createPodContainers({
    context,
    pod: () => pod,
    podDirectory,
    facts,
    volumes,
    onChange: passes.request,
  });

  const publish = () => {
    if (hasEnded) return;
    const status = buildPodStatus({
      pod,
      previous,
      containers: containers.states(),
      finished,
      podIP,
      hostIP,
      startTime,
      isSetUp,
      now: now(),
    });
    previous = status.conditions ?? [];
    writer.publish(status);
  };

  const sayUnsupported = () => {
    const list = listUnsupported(pod).join(', ');
    if (list === unsupported) return;
    unsupported = list;
    events.record(pod, 'Warning', 'NotEmulated', `processes of this machine do without: ${list}`);
  };

  /** False when the volumes aren't there yet. */
  const setUp = async (): Promise<boolean> => {
    const isFresh = isSetUp && !volumesAreStale && now() < (tokens.renewAt() ?? Infinity);
    if (isFresh) return true;
    volumesAreStale = false;
    try {
      await volumes.sync(pod);
      isSetUp = true;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      events.record(pod, 'Warning', 'FailedMount', message);
      publish();
      volumesAreStale = true;
    }
    return isSetUp; // a volume that can't be refreshed stays as it is
  };

  /** The main containers are through: the sidecars have nothing left to serve. */
  const finish = (phase: 'Succeeded' | 'Failed') => {
    finished = phase;
    const until = now() + graceOf(pod);
    void stopContainers(containers, () => until, now);
  };

  const terminate = () => {
    const until = now() + deletionGraceOf(pod);
    if (until >= deadline) return;
    deadline = until;
    if (ending) {
      void stopMainContainers(containers, deadline);
      return;
    }
    for (const { spec } of containers
      .states()
      .filter((each) => containers.isRunning(each.spec.name))) {
      events.record(pod, 'Normal', 'Killing', `Stopping container ${spec.name}`);
    }
    ending = end().catch(context.onError);
  };

  const end = async (): Promise<void> => {
    await stopContainers(containers, () => deadline, now);
    const ends = containers.states().filter(({ role }) => role === 'main');
    const isWell = ends.every(({ phase }) => phase.kind === 'terminated' && phase.exitCode === 0);
    finished ??= isWell ? 'Succeeded' : 'Failed';
    publish();
    await writer.flush();
    hasEnded = true;
    await deletePod(first, context);
    if (context.signal.aborted) return;
    await unlinkByName(context.podsDirectory, first);
    await rm(podDirectory, { recursive: true, force: true });
    context.addresses.give(podIP);
    events.forget(first);
    passes.stop();
    if (isRemoved) onGone();
  };

  const start = async () => {
    await mkdir(podDirectory, { recursive: true });
    await linkByName(context.podsDirectory, first);
    passes.request();
  };
  void start().catch(context.onError);

  return {
    update: (next) => {
      volumesAreStale ||= isSetUp && hasNewMetadata(pod, next);
      pod = next;
      writer.observe(next.status);
      containers.adopt(next);
      passes.request();
    },
    remove: () => {
      isRemoved = true;
      if (hasEnded) onGone();
      else passes.request();
    },
    refreshVolumes: () => {
      volumesAreStale = true;
      passes.request();
    },
    isRunning: (ofNamespace, ofPod, container) =>
      ofNamespace === namespace && ofPod === name && containers.isRunning(container),
    placeOf: (ofNamespace, ofPod, port) =>
      ofNamespace === namespace && ofPod === name && !hasEnded
        ? { host: podIP, port: portsOfPod(pod, context.images).get(port) ?? port }
        : undefined,
    abandon: () => {
      passes.stop();
      containers.abandon();
    },
  };
};

/** Labels and annotations are what downward-API volumes follow. */
const hasNewMetadata = (before: Pod, after: Pod): boolean =>
  JSON.stringify([before.metadata.labels, before.metadata.annotations]) !==
  JSON.stringify([after.metadata.labels, after.metadata.annotations]);
