/**
 * Whether the pod is paused: the annotation of that name, in a file of the kubelet's, since reading
 * it so takes no right in the cluster.
 */
import { pauses } from '#shared/inject/paused.ts';
import { followPodFile, type PodFileDeps } from './pod-file.ts';

/** Both who pauses the agent and who resumes it wait for this. */
const LOOK_INTERVAL_MS = 500;

/** As it is now, whenever asked. @throws when there is no such file */
export const followPaused = (deps: PodFileDeps): Promise<() => boolean> =>
  followPodFile(deps, {
    absent: false,
    parse: pauses,
    intervalMs: LOOK_INTERVAL_MS,
    onChanged: (paused) => deps.log.info({ paused }, 'the annotation that pauses the pod changed'),
  });
