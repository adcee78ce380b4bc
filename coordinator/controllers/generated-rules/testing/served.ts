/** What generators of rules are tested with: an API server that serves one list and its watch, in fake time. */
import type { KubeObject } from '#shared/kube/objects.ts';
import { ALWAYS_LEADING, NO_METRICS } from '#shared/kube/testing/controller.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';

/** That of Node's promises knows no fake time. */
export const sleep = (ms: number, signal?: AbortSignal) =>
  new Promise<void>((resolve, reject) => {
    setTimeout(resolve, ms);
    signal?.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
  });

export const DEPS = {
  kinds: [],
  namespace: undefined,
  record: () => undefined,
  metrics: NO_METRICS,
  leadership: ALWAYS_LEADING,
  clock: { ...systemClock, sleep },
  log: silentLogger,
};

export const served = (there: readonly KubeObject[]) => {
  const waiting: Uint8Array[] = [];
  let wake = (): void => undefined;
  const reads = {
    list: async (resource: { schema: { parse: (it: unknown) => unknown } }) => ({
      items: there.map((one) => resource.schema.parse(one)),
      resourceVersion: '1',
    }),
    watch: async (_: unknown, { signal }: { signal: AbortSignal }) =>
      (async function* () {
        while (!signal.aborted) {
          yield* waiting.splice(0);
          await new Promise<void>((resolve) => {
            wake = resolve;
            signal.addEventListener('abort', () => resolve(), { once: true });
          });
        }
      })(),
  };
  return {
    reads,
    push: (type: string, object: KubeObject): void => {
      waiting.push(Buffer.from(`${JSON.stringify({ type, object })}\n`));
      wake();
    },
  };
};
