/** Work that has so much time on the clock that is handed in; `AbortSignal.timeout` knows only the machine's. */
import type { Clock } from './clock.ts';

export type Limits = { timeoutMs: number; clock: Pick<Clock, 'after'>; signal: AbortSignal };

/** `work` gets a signal that aborts with the caller's, or in time. @throws Error `no answer in time`; what the work throws */
export const withDeadline = async <T>(
  { timeoutMs, clock, signal }: Limits,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  const deadline = new AbortController();
  const cancel = clock.after(timeoutMs, () => deadline.abort(new Error('no answer in time')));
  try {
    return await work(AbortSignal.any([signal, deadline.signal]));
  } catch (error) {
    throw deadline.signal.aborted ? deadline.signal.reason : error;
  } finally {
    cancel();
  }
};
