/** OpenWRT's time inside the simulator, which tests may run faster than real time. */
import { setTimeout as sleep } from 'node:timers/promises';

export type Clock = {
  /** Milliseconds of OpenWRT's time, from an arbitrary start. */
  nowMs: () => number;
  /** Calls back once after that much of OpenWRT's time; the returned function cancels it. */
  after: (ms: number, callback: () => void) => () => void;
  /** Resolves after that much of OpenWRT's time. @throws AbortError */
  wait: (ms: number, signal?: AbortSignal) => Promise<void>;
};

/** `speed` 10 makes 300 s of OpenWRT's time pass in 30 s. */
export const createClock = (speed = 1): Clock => {
  const start = performance.now();
  return {
    nowMs: () => (performance.now() - start) * speed,
    after: (ms, callback) => {
      const timer = setTimeout(callback, ms / speed);
      return () => clearTimeout(timer);
    },
    wait: async (ms, signal) => {
      await sleep(ms / speed, undefined, signal ? { signal } : {});
    },
  };
};
