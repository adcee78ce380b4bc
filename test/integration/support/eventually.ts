/** Waiting, for what happens by itself and for what must not. */
import { expect } from 'vitest';

/**
 * What has to become true by itself; the real thing takes milliseconds, a loaded machine longer.
 */
export const eventually = <T>(read: () => T) => {
  return expect.poll(read, { interval: 50 });
};

/** For what must not happen in the meantime. */
export const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
