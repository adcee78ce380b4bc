import { expect } from 'vitest';

/** What has to come true by itself; on a loaded machine after a while. */
export const eventually = <T>(read: () => T) => {
  return expect.poll(read, { timeout: 300_000, interval: 100 });
};
