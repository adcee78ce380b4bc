/** What the pod is attached to. The kubelet rewrites the file when the annotation changes, so the agent follows it. */
import type { NetworkTable } from '#shared/compile/types.ts';
import { parseNetworks } from '#shared/compile/networks.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import { messageOf } from '#shared/runtime/errors.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { watchFiles } from '#shared/runtime/rotated-file.ts';

export type NetworksDeps = {
  /** Downward API file; absent: the pod has no networks. */
  file: string | undefined;
  onChange: () => void;
  signal: AbortSignal;
  clock: Clock;
  log: Logger;
};

/** The kubelet itself takes up to a minute to rewrite the file. */
const LOOK_INTERVAL_MS = 2_000;

/** The table as it is now, whenever asked. An annotation that cannot be read changes nothing. @throws when there is no such file */
export const followNetworks = async (deps: NetworksDeps): Promise<() => NetworkTable> => {
  const { file, onChange, signal, clock, log } = deps;
  let networks: NetworkTable = new Map();
  if (file === undefined) return () => networks;

  const take = ([text]: readonly string[]): void => {
    try {
      networks = parseNetworks(text);
    } catch (error) {
      log.error(
        { file, reason: messageOf(error) },
        "failed to read the pod's networks, keeping the last ones",
      );
    }
  };
  const first = await watchFiles({
    paths: [file],
    intervalMs: LOOK_INTERVAL_MS,
    clock,
    signal,
    onError: (error) =>
      log.error({ err: error, file }, "failed to read the pod's networks, keeping the last ones"),
    onChange: (contents) => {
      take(contents);
      log.info({ networks: [...networks.keys()] }, "the pod's networks changed");
      onChange();
    },
  });
  take(first);
  return () => networks;
};
