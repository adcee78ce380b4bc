/**
 * Work that has so much time on the machine's clock. The timer ends with the work: one of `AbortSignal.timeout` fires all the same, for
 * nobody, and a coordinator that answers hundreds of requests a second spent up to a tenth of its CPU on those (seen in a profile).
 */
export const withinTime = async <T>(
  timeoutMs: number,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  const limit = new AbortController();
  const end = (): void =>
    limit.abort(new DOMException(`no answer within ${timeoutMs} ms`, 'TimeoutError'));
  const timer = setTimeout(end, timeoutMs);
  timer.unref();
  try {
    return await work(signal ? AbortSignal.any([signal, limit.signal]) : limit.signal);
  } finally {
    clearTimeout(timer);
  }
};
