/**
 * A process of a walk: what reaches it (timers, answers) can be stopped for a while, as by SIGSTOP,
 * and for good, as by kill -9.
 */
import { sleepOn } from '#shared/runtime/testing/manual-clock.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Time } from './time.ts';

export type Process = {
  clock: Clock;
  isAlive: () => boolean;
  isFrozen: () => boolean;
  /** When it was last stopped, from and to; undefined when it never was. */
  stoodStill: () => readonly [number, number] | undefined;
  /** Runs it when the process can, or never. */
  deliver: (callback: () => void) => void;
  /** What comes from outside. */
  receive: <T>(answer: Promise<T>) => Promise<T>;
  freeze: () => void;
  thaw: () => void;
  kill: () => void;
  /** Asks it to end. */
  stopping: AbortController;
};

export const createProcess = (time: Time): Process => {
  let isAlive = true;
  let isFrozen = false;
  let stillFrom: number | undefined;
  let stillTo = 0;
  let waiting: (() => void)[] = [];
  const deliver = (callback: () => void): void => {
    if (!isAlive) return;
    if (isFrozen) waiting.push(callback);
    else callback();
  };
  const after: Clock['after'] = (ms, callback) => {
    let isOff = false;
    const cancel = time.after(ms, () =>
      deliver(() => {
        if (!isOff) callback();
      }),
    );
    return () => {
      isOff = true;
      cancel();
    };
  };
  const stopping = new AbortController();
  time.ended.addEventListener('abort', () => stopping.abort());
  return {
    clock: { now: time.now, monotonic: time.monotonic, after, sleep: sleepOn(after) },
    isAlive: () => isAlive,
    isFrozen: () => isFrozen,
    stoodStill: () =>
      stillFrom === undefined ? undefined : [stillFrom, isFrozen ? time.monotonic() : stillTo],
    deliver,
    receive: (answer) =>
      new Promise((resolve, reject) => {
        answer.then(
          (value) => deliver(() => resolve(value)),
          (error: unknown) => deliver(() => reject(error)),
        );
      }),
    freeze: () => {
      if (!isFrozen) stillFrom = time.monotonic();
      isFrozen = true;
    },
    thaw: () => {
      if (isFrozen) stillTo = time.monotonic();
      isFrozen = false;
      const due = waiting;
      waiting = [];
      // One after the other: what follows from one is done before the next comes.
      due.forEach((callback, at) => time.after(at / 1_000, () => deliver(callback)));
    },
    kill: () => {
      isAlive = false;
      waiting = [];
    },
    stopping,
  };
};
