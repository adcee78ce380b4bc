/** Work that has so much time on the clock that is handed in; `AbortSignal.timeout` knows only the machine's. */
import type { Clock } from './clock.ts';
import { withOwnSignal } from './own-signal.ts';

export type Limits = { timeoutMs: number; clock: Pick<Clock, 'after'>; signal: AbortSignal };

/** `work` gets a signal that aborts with the caller's, or in time. @throws Error `no answer in time`; what the work throws */
export const withDeadline = <T>(
  { timeoutMs, clock, signal }: Limits,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> =>
  withOwnSignal(signal, async (own) => {
    const late = new Error('no answer in time');
    const cancel = clock.after(timeoutMs, () => own.abort(late));
    try {
      return await work(own.signal);
    } catch (error) {
      throw own.signal.reason === late ? late : error;
    } finally {
      cancel();
    }
  });
