/** Times at which programs on one clock do the same, so that what they send comes together. */

/** Which share of an interval lies between two of them. */
const SHARE = 1 / 8;

/** Milliseconds until the last such time within `dueMs`, for what is done each `intervalMs`. */
export const untilCommonTime = (dueMs: number, intervalMs: number, now: number): number =>
  dueMs - ((now + dueMs) % (intervalMs * SHARE));
