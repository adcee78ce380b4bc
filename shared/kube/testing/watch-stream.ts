/**
 * A watch for unit tests, as the API server answers it: with what is pushed, one event a line,
 * until the caller ends it.
 */
export type WatchStream = {
  push: (type: string, object: object) => void;
  until: (signal: AbortSignal) => AsyncGenerator<Uint8Array>;
};

export const createWatchStream = (): WatchStream => {
  const waiting: Uint8Array[] = [];
  let wake = (): void => undefined;
  return {
    push: (type, object) => {
      waiting.push(Buffer.from(`${JSON.stringify({ type, object })}\n`));
      wake();
    },
    until: async function* (signal) {
      while (!signal.aborted) {
        yield* waiting.splice(0);
        await new Promise<void>((resolve) => {
          wake = resolve;
          signal.addEventListener('abort', () => resolve(), { once: true });
        });
      }
    },
  };
};
