/**
 * Gives up waiting for a request without closing its stream. Where a stream of HTTP/2 is closed while its body is not all sent, e.g. since
 * the server is slow to read, Node can go round in nghttp2 for ever and take all memory (Node 26.10, measured: 500 MB within two
 * seconds of CPU; seen on an overloaded coordinator that was stopped). Requests without a body are not concerned.
 */

/** By then the body is sent, or the connection was cut for its silence (transport.ts). */
const LINGER_MS = 75_000;

/** Settles as `work` does, or rejects with the reason when `signal` aborts; `cut` aborts some time after that. */
export const abandonable = async <T>(
  signal: AbortSignal,
  work: (cut: AbortSignal) => Promise<T>,
): Promise<T> => {
  signal.throwIfAborted();
  const cut = new AbortController();
  const givenUp = Promise.withResolvers<never>();
  const giveUp = (): void => {
    givenUp.reject(signal.reason);
    setTimeout(() => cut.abort(signal.reason), LINGER_MS).unref();
  };
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    return await Promise.race([work(cut.signal), givenUp.promise]);
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
};
