/**
 * Runs passes one after the other: requests during a pass make one more, and a timer asks by
 * itself.
 */

export type Passes = {
  request: () => void;
  /** Not later than this, ms since the epoch; the next pass forgets it. */
  wakeAt: (time: number) => void;
  stop: () => void;
};

export type PassesDeps = {
  now: () => number;
  onError: (error: unknown) => void;
  signal: AbortSignal;
};

/** After a pass that failed. */
const RETRY_MS = 250;

export const createPasses = (pass: () => Promise<void>, deps: PassesDeps): Passes => {
  let isRunning = false;
  let isWanted = false;
  const stopping = new AbortController();
  const stopped = AbortSignal.any([stopping.signal, deps.signal]);
  let timer: NodeJS.Timeout | undefined;

  const run = async () => {
    isRunning = true;
    while (isWanted && !stopped.aborted) {
      isWanted = false;
      clearTimeout(timer);
      try {
        await pass();
      } catch (error) {
        deps.onError(error);
        wakeAt(deps.now() + RETRY_MS);
      }
    }
    isRunning = false;
  };
  const request = () => {
    isWanted = true;
    if (!isRunning) void run();
  };
  const wakeAt = (time: number) => {
    clearTimeout(timer);
    if (time < Infinity && !stopped.aborted)
      timer = setTimeout(request, Math.max(0, time - deps.now()));
  };

  return {
    request,
    wakeAt,
    stop: () => {
      stopping.abort();
      clearTimeout(timer);
    },
  };
};
