/**
 * The files that the kubelet's exec probes look at: one is touched while the event loop runs,
 * another exists while the agent is ready, and the third says meanwhile what is missing. Nothing of
 * an earlier run is left before this one says anything. A folder that cannot be written ends
 * nothing: the agent goes on to say so, until the kubelet ends it, and then says it as its last
 * words, which the kubelet shows in the pod's status.
 */
import { open, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  ALIVE_FILE,
  ALIVE_INTERVAL_MS,
  MISSING_FILE,
  READY_FILE,
} from '#shared/inject/state-directory.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { StateFileError } from '../io/state-file.ts';

export type ProbeFiles = {
  /**
   * Touches the first file until the signal aborts, then takes both away for good. @throws
   * StateFileError when the folder could not be written in the end
   */
  run: (signal: AbortSignal) => Promise<void>;
  /**
   * Ready when nothing is missing. The last call decides, whatever the disk does in between;
   * resolves when the disk has it.
   */
  setMissing: (missing: ReadonlyMap<string, string>) => Promise<void>;
  /** Why the folder cannot be written; undefined: it can. */
  failing: () => string | undefined;
};

export type ProbeFilesDeps = { directory: string; clock: Clock; log: Logger };

export const createProbeFiles = async (deps: ProbeFilesDeps): Promise<ProbeFiles> => {
  const { directory, clock, log } = deps;
  const alive = join(directory, ALIVE_FILE);
  const ready = join(directory, READY_FILE);
  const lacking = join(directory, MISSING_FILE);
  let failing: StateFileError | undefined;
  const orSay = async (path: string, work: (path: string) => Promise<void>): Promise<void> => {
    try {
      await work(path);
      if (failing === undefined || work === remove) return;
      log.info({ directory }, 'the state folder can be written again');
      failing = undefined;
    } catch (cause) {
      const error = new StateFileError(path, cause);
      if (error.message !== failing?.message)
        log.error({ err: error, directory }, 'failed to write the files of the probes');
      failing = error;
    }
  };
  const removeBoth = async (): Promise<void> => {
    for (const path of [ready, alive]) await orSay(path, remove);
  };
  await removeBoth();
  await writeFile(lacking, 'the agent is starting\n').catch(ignored);
  let isReady = false;
  let said = '';
  /** By part: since when it is missing, wall-clock milliseconds. */
  let since: ReadonlyMap<string, number> = new Map();
  let ended = false;
  let writing = Promise.resolve();
  return {
    failing: () => failing?.message,
    run: async (signal) => {
      try {
        while (!signal.aborted) {
          await orSay(alive, touch);
          // A second agent in the pod takes both away at its start, and at its end.
          writing = writing.then(() => (isReady ? orSay(ready, touch) : undefined));
          await writing;
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
      if (failing !== undefined) throw failing;
    },
    setMissing: (missing) => {
      if (ended) return writing;
      const now = missing.size === 0;
      since = new Map([...missing.keys()].map((part) => [part, since.get(part) ?? clock.now()]));
      const text = linesOf(missing, since);
      if (text !== said) {
        said = text;
        writing = writing.then(() => writeFile(lacking, text).catch(ignored));
      }
      if (now === isReady) return writing;
      isReady = now;
      log.info({ ready: now, missing: Object.fromEntries(missing) }, 'readiness changed');
      writing = writing.then(() => orSay(ready, now ? touch : remove));
      return writing;
    },
  };
};

/** Only words are lost; the two files that decide say what is wrong with the folder. */
const ignored = (): void => undefined;

const PARTS: ReadonlyMap<string, string> = new Map([
  ['openwrt', 'OpenWRT does not answer'],
  ['rules', 'rules are not known'],
  ['first pass', 'the first pass is not complete'],
]);

const linesOf = (
  missing: ReadonlyMap<string, string>,
  since: ReadonlyMap<string, number>,
): string =>
  [...missing]
    .map(([part, reason]) => {
      const time = new Date(since.get(part) ?? 0).toISOString().slice(11, 19);
      return `${PARTS.get(part) ?? part} since ${time} UTC: ${reason}\n`;
    })
    .join('');

const remove = (path: string): Promise<void> => rm(path, { force: true });

const touch = async (path: string): Promise<void> => {
  await (await open(path, 'a')).close();
  const now = new Date();
  await utimes(path, now, now);
};
