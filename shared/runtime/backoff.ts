/** How long to wait before the next try: exponential with full jitter, so clients do not align. */

export type Backoff = {
  /** Milliseconds to wait before the next try; each call counts one failure. */
  next: () => number;
  /** To be called on success. */
  reset: () => void;
  /** Failures since the last reset. */
  failures: () => number;
};

export type BackoffOptions = {
  /** Upper bound of the first wait. */
  baseMs: number;
  /** Upper bound of any wait. */
  maxMs: number;
  /** Uniform in [0, 1). */
  random?: () => number;
};

/**
 * The n-th wait is uniform between a tenth of, and the whole of `min(maxMs, baseMs * 2^n)`: never
 * zero, so that a failure without delay cannot become a busy loop.
 */
export const createBackoff = (options: BackoffOptions): Backoff => {
  const { baseMs, maxMs, random = Math.random } = options;
  let failures = 0;
  return {
    next: () => {
      const bound = Math.min(maxMs, baseMs * 2 ** Math.min(failures, 30));
      failures += 1;
      return bound * (0.1 + 0.9 * random());
    },
    reset: () => {
      failures = 0;
    },
    failures: () => failures,
  };
};

/** `ms` spread by `fraction` to both sides, so that timers of many pods drift apart. */
export const jittered = (
  ms: number,
  fraction: number,
  random: () => number = Math.random,
): number => ms * (1 + fraction * (2 * random() - 1));
