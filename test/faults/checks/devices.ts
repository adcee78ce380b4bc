/**
 * The OpenWRTs of all pods of a namespace, looked at without a pause from the folders of their
 * containers: what they had when, and when they ran.
 */
import { readFileSync, readdirSync, realpathSync } from 'node:fs';
import { basename, join } from 'node:path';
import * as z from 'zod';
import type { Cluster } from 'kind-test-harness';
import { tailJournal, type JournalTail } from './journal-tail.ts';
import { createTimeline, type Timeline } from './timeline.ts';

const LOOK_EVERY_MS = 40;
const CONTAINER = 'sdewan';
const JOURNAL = 'root/simulator/journal.jsonl';
const running = z.object({ pid: z.number() });

export type Device = {
  timeline: Timeline;
  /**
   * Whether its OpenWRT runs, as seen at the first look at or after `ms`; looks that have not been
   * yet: as last seen.
   */
  ranAt: (ms: number) => boolean;
};

export type Devices = {
  /** By the pod's uid; undefined: its container has not run yet. */
  of: (uid: string) => Device | undefined;
  /** Reads everything that has been written by now. */
  readAll: () => void;
  forget: (ms: number) => void;
  close: () => void;
};

type Followed = Device & {
  tail: JournalTail;
  folder: string;
  looks: { ms: number; is: boolean }[];
};

export const followDevices = (
  cluster: Cluster,
  namespace: string,
  isOurs: (name: string) => boolean,
): Devices => {
  const followed = new Map<string, Followed>();
  const byName = join(cluster.podDirectory(namespace, '.'));

  const follow = (pod: string): Followed => {
    const folder = join(realpathSync(join(byName, pod)), 'containers', CONTAINER);
    const looks: Followed['looks'] = [];
    return {
      folder,
      looks,
      tail: tailJournal(join(folder, JOURNAL)),
      timeline: createTimeline(isOurs),
      ranAt: (ms) => (looks.find((look) => look.ms >= ms) ?? looks.at(-1))?.is ?? false,
    };
  };

  const look = (): void => {
    for (const pod of names(byName)) {
      const uid = uidOf(join(byName, pod));
      if (uid !== undefined && !followed.has(uid)) followed.set(uid, follow(pod));
    }
    for (const { folder, looks, tail, timeline } of followed.values()) {
      for (const entry of tail.readOn()) timeline.follow(entry);
      const is = doesRun(folder);
      if (looks.at(-1)?.is !== is || looks.at(-2)?.is !== is) looks.push({ ms: Date.now(), is });
      else Object.assign(looks.at(-1) ?? {}, { ms: Date.now() });
    }
  };
  const timer = setInterval(look, LOOK_EVERY_MS);

  return {
    of: (uid) => followed.get(uid),
    readAll: look,
    forget: (ms) => {
      for (const { timeline } of followed.values()) timeline.forget(ms);
    },
    close: () => {
      clearInterval(timer);
      for (const { tail } of followed.values()) tail.close();
    },
  };
};

/** Links by name; one that is being made is seen at the next look. */
const names = (folder: string): string[] => {
  try {
    return readdirSync(folder).filter((name) => !name.includes('.'));
  } catch {
    return [];
  }
};

const uidOf = (link: string): string | undefined => {
  try {
    return basename(realpathSync(link));
  } catch {
    return undefined;
  }
};

const doesRun = (folder: string): boolean => {
  try {
    const { pid } = running.parse(JSON.parse(readFileSync(join(folder, 'running.json'), 'utf8')));
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};
