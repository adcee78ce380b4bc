/** A dirty flag with a loop: many marks become one run; a mark during a run leads to another. */
import type { BackoffOptions } from './backoff.ts';
import type { Clock } from './clock.ts';
import { WorkQueue } from './work-queue.ts';

export type TriggerOptions = {
  /** A returned number: milliseconds until the next run without a mark. A throw: backoff. */
  run: (signal: AbortSignal) => Promise<number | void>;
  /** From the first mark to the run, so that what comes together is done together. */
  delayMs: number;
  backoff?: BackoffOptions;
  onError: (error: unknown, retryInMs: number) => void;
  clock?: Clock;
};

export type Trigger = {
  /** Asks for a run after `delayMs`, or after the given milliseconds (0: at once). */
  mark: (delayMs?: number) => void;
  /** Serves marks until the signal aborts and the run in hand has ended. Earlier marks count. */
  start: (signal: AbortSignal) => Promise<void>;
};

export const createTrigger = (options: TriggerOptions): Trigger => {
  const queue = new WorkQueue<'only'>({
    work: (_key, signal) => options.run(signal),
    onError: (_key, error, retryInMs) => options.onError(error, retryInMs),
    ...(options.backoff && { backoff: options.backoff }),
    ...(options.clock && { clock: options.clock }),
  });
  return {
    mark: (delayMs = options.delayMs) => queue.add('only', delayMs),
    start: (signal) => queue.run(signal),
  };
};
