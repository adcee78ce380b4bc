/**
 * A clock for tests: it stands still until the test moves it, and the test can wait until the code
 * under test waits for it.
 */
import type { Clock } from '../clock.ts';

export type ManualClock = Clock & {
  /** Lets that much time pass, and all that is due in it happen in order. */
  advance: (ms: number) => void;
  /** Resolves as soon as something waits for time to pass. */
  untilSleeping: () => Promise<void>;
  /**
   * Waits until something waits, moves to the time at which the first of it is due, and returns by
   * how many milliseconds.
   */
  step: () => Promise<number>;
};

/** The `sleep` of a clock that has `after`. */
export const sleepOn =
  (after: Clock['after']): Clock['sleep'] =>
  (ms, signal) =>
    new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const stop = (): void => {
        cancel();
        reject(signal?.reason);
      };
      const cancel = after(ms, () => {
        signal?.removeEventListener('abort', stop);
        resolve();
      });
      signal?.addEventListener('abort', stop, { once: true });
    });

type Entry = { at: number; callback: () => void };

/** Begins at 0. */
export const createManualClock = (): ManualClock => {
  let now = 0;
  let due: readonly Entry[] = [];
  let listeners: readonly (() => void)[] = [];
  const after: Clock['after'] = (ms, callback) => {
    const entry = { at: now + ms, callback };
    due = [...due, entry].sort((a, b) => a.at - b.at);
    const told = listeners;
    listeners = [];
    for (const tell of told) tell();
    return () => {
      due = due.filter((other) => other !== entry);
    };
  };
  const advance = (ms: number): void => {
    const end = now + ms;
    for (let [next] = due; next && next.at <= end; [next] = due) {
      due = due.slice(1);
      now = Math.max(now, next.at);
      next.callback();
    }
    now = end;
  };
  const untilSleeping = async (): Promise<void> => {
    while (due.length === 0) {
      await new Promise<void>((resolve) => {
        listeners = [...listeners, resolve];
      });
    }
  };
  return {
    now: () => now,
    monotonic: () => now,
    after,
    sleep: sleepOn(after),
    advance,
    untilSleeping,
    step: async () => {
      await untilSleeping();
      const ms = Math.max(0, (due[0]?.at ?? now) - now);
      advance(ms);
      return ms;
    },
  };
};
