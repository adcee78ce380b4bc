/** How a pod ends: its containers in a kubelet's order, then its object on the API server. */
import { setTimeout as sleep } from 'node:timers/promises';

import { KubeError } from '../kube/client.ts';
import type { Pod } from '../kube/objects.ts';
import type { KubeletContext } from './context.ts';
import { graceOf, type PodContainers } from './pod-containers.ts';

/** A kubelet gives this to a sidecar even when its pod has used up its grace period (measured). */
const SIDECAR_MINIMUM_GRACE_MS = 2000;
const FORCED_GRACE_MS = 1000;
const RETRY_MS = 500;

/** The grace of a deletion, in ms. Forced ones ask for none; a kubelet gives a second. */
export const deletionGraceOf = (pod: Pod): number => {
  const asked = pod.metadata.deletionGracePeriodSeconds;
  return Math.max(asked === undefined ? graceOf(pod) : asked * 1000, FORCED_GRACE_MS);
};

/** Main containers at once; then the sidecars one by one, in the reverse order of their start. */
export const stopContainers = async (
  containers: PodContainers,
  deadline: () => number,
  now: () => number,
): Promise<void> => {
  await stopMainContainers(containers, deadline());
  const sidecars = containers.states().filter(({ role }) => role === 'sidecar');
  for (const { spec } of sidecars.toReversed()) {
    await containers.stop(spec.name, Math.max(deadline(), now() + SIDECAR_MINIMUM_GRACE_MS));
  }
};

/** Also brings the deadline forward for those that are already stopping. */
export const stopMainContainers = async (
  containers: PodContainers,
  deadline: number,
): Promise<void> => {
  const main = containers.states().filter(({ role }) => role !== 'sidecar');
  await Promise.all(main.map(async ({ spec }) => await containers.stop(spec.name, deadline)));
};

/** Completes a deletion that was asked for: nothing of the pod runs any more. */
export const deletePod = async (
  { metadata }: Pod,
  { client, signal, onError }: KubeletContext,
): Promise<void> => {
  const path = `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}`;
  const options = { gracePeriodSeconds: 0, preconditions: { uid: metadata.uid } };
  while (!signal.aborted) {
    try {
      return await client.delete(path, options);
    } catch (error) {
      // Gone already, or a successor has its name.
      if (error instanceof KubeError && (error.status === 404 || error.status === 409)) return;
      onError(error);
      await sleep(RETRY_MS, undefined, { signal }).catch(() => {});
    }
  }
};
