import { afterEach, beforeEach, vi } from 'vitest';

type Running = { run: (signal: AbortSignal) => Promise<void> };

/** For the tests of a file: timers that the test moves, and what runs until the test ends. */
export const inFakeTime = (): {
  run: (one: Running) => void;
  /** Aborts at the end of the test. */
  signal: () => AbortSignal;
} => {
  let stop = new AbortController();
  let running: Promise<void> | undefined;
  beforeEach(() => {
    vi.useFakeTimers();
    stop = new AbortController();
  });
  afterEach(async () => {
    stop.abort();
    await running;
    vi.useRealTimers();
  });
  return {
    run: (one) => {
      running = one.run(stop.signal);
    },
    signal: () => stop.signal,
  };
};
