/**
 * How soon after a change of OpenWRT the next one may come: a gap of one to two times what the last
 * one took, its reloads included. So rules that change all the time keep OpenWRT busy for half of
 * the time at most, and the first change after a while is made at once.
 */
import type { Clock } from '#shared/runtime/clock.ts';

export type Pace = {
  /** A change has just ended, whatever its result. */
  applied: (tookMs: number) => void;
  /** Milliseconds until the next change; 0: now. */
  waitMs: () => number;
  /** The next change is made at once. */
  skip: () => void;
};

export const createPace = (
  clock: Pick<Clock, 'monotonic'>,
  random: () => number = Math.random,
): Pace => {
  let nextAt = -Infinity;
  return {
    applied: (tookMs) => {
      nextAt = clock.monotonic() + tookMs * (1 + random());
    },
    waitMs: () => Math.max(0, nextAt - clock.monotonic()),
    skip: () => {
      nextAt = -Infinity;
    },
  };
};
