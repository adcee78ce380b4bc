/**
 * Work that has so much time, on the machine's clock or one that is handed in. The timer ends with
 * the work: one of `AbortSignal.timeout` fires all the same, and a coordinator that answers
 * hundreds of requests a second spent up to a tenth of its CPU on those (seen in a profile).
 */
import { systemClock, type Clock } from './clock.ts';
import { withOwnSignal } from './own-signal.ts';

export type Limits = {
  timeoutMs: number;
  clock?: Pick<Clock, 'after'>;
  /** The caller's signal. */
  signal?: AbortSignal | undefined;
};

/**
 * `work` gets a signal that aborts with the caller's, or in time.
 * @throws DOMException TimeoutError, `no answer in time`; the caller's reason when it aborts; what
 * the work throws
 */
export const withDeadline = <T>(
  { timeoutMs, clock = systemClock, signal }: Limits,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> =>
  withOwnSignal(signal, async (own) => {
    const end = (): void => own.abort(new DOMException('no answer in time', 'TimeoutError'));
    const cancel = clock.after(timeoutMs, end);
    try {
      return await work(own.signal);
    } catch (error) {
      throw own.signal.aborted ? own.signal.reason : error;
    } finally {
      cancel();
    }
  });
