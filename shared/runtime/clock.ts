/** Time as the programs see it: handed in, so that tests need not wait. */
import { setTimeout as sleepMs } from 'node:timers/promises';

export type Clock = {
  /** Wall clock, milliseconds since 1970: for what people read. It can jump. */
  now: () => number;
  /** Milliseconds that never jump: for durations and deadlines. */
  monotonic: () => number;
  /** Resolves after `ms`. @throws the signal's reason when it aborts first. */
  sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** Calls back once after `ms` unless the returned function was called before. */
  after: (ms: number, callback: () => void) => () => void;
};

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: async (ms, signal) => {
    try {
      await sleepMs(ms, undefined, signal ? { signal } : {});
    } catch (error) {
      throw signal?.aborted ? signal.reason : error;
    }
  },
  after: (ms, callback) => {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};
