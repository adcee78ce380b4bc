/**
 * Work that has so much time on the machine's clock. The timer ends with the work: one of `AbortSignal.timeout` fires all the same, for
 * nobody, and a coordinator that answers hundreds of requests a second spent up to a tenth of its CPU on those (seen in a profile).
 */
import { withOwnSignal } from './own-signal.ts';

export const withinTime = <T>(
  timeoutMs: number,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> =>
  withOwnSignal(signal, async (own) => {
    const end = (): void =>
      own.abort(new DOMException(`no answer within ${timeoutMs} ms`, 'TimeoutError'));
    const timer = setTimeout(end, timeoutMs);
    timer.unref();
    try {
      return await work(own.signal);
    } finally {
      clearTimeout(timer);
    }
  });
