/** What the pod is attached to: the annotation of that name, in a file of the kubelet's. */
import type { NetworkTable } from '#shared/compile/types.ts';
import { parseNetworks } from '#shared/compile/networks.ts';
import { followPodFile, type PodFileDeps } from './pod-file.ts';

/** The kubelet itself takes up to a minute to rewrite the file. */
const LOOK_INTERVAL_MS = 2_000;

/**
 * The table as it is now, whenever asked. An annotation that cannot be read changes nothing.
 * @throws when there is no such file
 */
export const followNetworks = (deps: PodFileDeps): Promise<() => NetworkTable> =>
  followPodFile<NetworkTable>(deps, {
    absent: new Map(),
    parse: parseNetworks,
    intervalMs: LOOK_INTERVAL_MS,
    onChanged: (networks) =>
      deps.log.info({ networks: [...networks.keys()] }, "the pod's networks changed"),
  });
