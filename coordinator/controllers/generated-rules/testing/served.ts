/** What generators are tested with: an API server with one list and its watch, in fake time. */
import type { KubeObject } from '#shared/kube/objects.ts';
import { ALWAYS_LEADING, NO_METRICS } from '#shared/kube/testing/controller.ts';
import { createWatchStream } from '#shared/kube/testing/watch-stream.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { sleepOn } from '#shared/runtime/testing/manual-clock.ts';

/** That of Node's promises knows no fake time. */
export const sleep = sleepOn(systemClock.after);

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
  const { push, until } = createWatchStream();
  const reads = {
    list: async (resource: { schema: { parse: (it: unknown) => unknown } }) => ({
      items: there.map((one) => resource.schema.parse(one)),
      resourceVersion: '1',
    }),
    watch: async (_: unknown, { signal }: { signal: AbortSignal }) => until(signal),
  };
  return { reads, push };
};
