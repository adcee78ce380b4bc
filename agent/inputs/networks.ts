/** What the pod is attached to, as its annotations say, each in a file of the kubelet's. */
import {
  parseNetworks,
  parseNetworkStatus,
  parseSelections,
  podNetworksOf,
} from '#shared/compile/networks.ts';
import type { PodNetworks } from '#shared/compile/types.ts';
import { followPodFile, type PodFileDeps } from './pod-file.ts';

/** The kubelet itself takes up to a minute to rewrite the file. */
const LOOK_INTERVAL_MS = 2_000;

type Deps = Omit<PodFileDeps, 'file'> & {
  /** The pod's namespace. */
  namespace: string;
  nodusFile: string | undefined;
  selectionsFile: string | undefined;
  statusFile: string | undefined;
};

/**
 * The networks as they are now, whenever asked. An annotation that cannot be read changes nothing.
 * @throws when there is no such file
 */
export const followNetworks = async (deps: Deps): Promise<() => PodNetworks> => {
  const { namespace } = deps;
  const follow = <T>(file: string | undefined, absent: T, parse: (text: string) => T) =>
    followPodFile(
      { ...deps, file },
      {
        absent,
        parse,
        intervalMs: LOOK_INTERVAL_MS,
        onChanged: () =>
          deps.log.info({ networks: now().networkNames }, "the pod's networks changed"),
      },
    );
  const nodus = await follow(deps.nodusFile, new Map<string, string>(), parseNetworks);
  const selected = await follow(deps.selectionsFile, [], (text) =>
    parseSelections(text, namespace),
  );
  const status = await follow(deps.statusFile, [], (text) => parseNetworkStatus(text, namespace));
  const now = (): PodNetworks =>
    podNetworksOf({ namespace, nodus: nodus(), selected: selected(), status: status() });
  return now;
};
