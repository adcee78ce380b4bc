/**
 * The files that the kubelet's exec probes look at: one is touched while the event loop runs, the other exists while the
 * agent is ready. Both are gone from an earlier run before this one says anything.
 */
import { open, rm, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { ALIVE_FILE, ALIVE_INTERVAL_MS, READY_FILE } from '#shared/inject/state-directory.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';

export type ProbeFiles = {
  /** Touches the first file until the signal aborts, then takes both away for good. */
  run: (signal: AbortSignal) => Promise<void>;
  /** Ready when nothing is missing. The last call decides, whatever the disk does in between; resolves when the disk has it. */
  setMissing: (missing: ReadonlyMap<string, string>) => Promise<void>;
};

export type ProbeFilesDeps = { directory: string; clock: Clock; log: Logger };

export const createProbeFiles = async (deps: ProbeFilesDeps): Promise<ProbeFiles> => {
  const { directory, clock, log } = deps;
  const alive = join(directory, ALIVE_FILE);
  const ready = join(directory, READY_FILE);
  const removeBoth = async (): Promise<void> => {
    await Promise.all([alive, ready].map((path) => rm(path, { force: true })));
  };
  await removeBoth();
  let isReady = false;
  let ended = false;
  let writing = Promise.resolve();
  return {
    run: async (signal) => {
      try {
        while (!signal.aborted) {
          await touch(alive);
          await clock.sleep(ALIVE_INTERVAL_MS, signal);
        }
      } catch (error) {
        if (!signal.aborted) throw error;
      } finally {
        // The last pass comes to its end after this, and would say that the agent is ready.
        ended = true;
        await writing;
        await removeBoth();
      }
    },
    setMissing: (missing) => {
      const now = missing.size === 0;
      if (now === isReady || ended) return writing;
      isReady = now;
      log.info({ ready: now, missing: Object.fromEntries(missing) }, 'readiness changed');
      writing = writing
        .then(() => (now ? touch(ready) : rm(ready, { force: true })))
        .catch((error: unknown) =>
          log.error({ err: error, path: ready }, 'failed to write the readiness file'),
        );
      return writing;
    },
  };
};

const touch = async (path: string): Promise<void> => {
  await (await open(path, 'a')).close();
  const now = new Date();
  await utimes(path, now, now);
};
