/**
 * OpenWRT's time inside the simulator: the real one, or one that stands still until a test moves
 * it.
 */
import { setTimeout as sleep } from 'node:timers/promises';

export type Clock = {
  /** Milliseconds from an arbitrary start. */
  nowMs: () => number;
  /** Calls back once after that many milliseconds; the returned function cancels it. */
  after: (ms: number, callback: () => void) => () => void;
  /** Resolves after that many milliseconds. @throws AbortError */
  wait: (ms: number, signal?: AbortSignal) => Promise<void>;
};

export type ManualClock = Clock & {
  /** Lets that much time pass, and all that is due in it happen in order. */
  advance: (ms: number) => void;
  /**
   * Goes to the next timer, unless that is due after `untilMs`, and has it happen. False: there was
   * none.
   */
  step: (untilMs: number) => boolean;
};

export const createClock = (): Clock => ({
  nowMs: () => performance.now(),
  after: (ms, callback) => {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
  wait: async (ms, signal) => {
    await sleep(ms, undefined, signal ? { signal } : {});
  },
});

export const createManualClock = (): ManualClock => {
  let now = 0;
  let due: { at: number; callback: () => void }[] = [];
  const after: Clock['after'] = (ms, callback) => {
    const entry = { at: now + ms, callback };
    due = [...due, entry].sort((a, b) => a.at - b.at);
    return () => {
      due = due.filter((other) => other !== entry);
    };
  };
  const step: ManualClock['step'] = (untilMs) => {
    const [next, ...later] = due;
    if (!next || next.at > untilMs) return false;
    due = later;
    now = next.at;
    next.callback();
    return true;
  };
  return {
    nowMs: () => now,
    after,
    wait: (ms, signal) =>
      new Promise((resolve, reject) => {
        const cancel = after(ms, resolve);
        signal?.addEventListener('abort', () => {
          cancel();
          reject(new Error('aborted', { cause: signal.reason }));
        });
      }),
    step,
    advance: (ms) => {
      const end = now + ms;
      while (step(end));
      now = end;
    },
  };
};
