/**
 * The service that a user wants restarted: one request at a time, and one in ten minutes at most.
 * The last that was served is on disk, so that an answer that came too late or a restart of this
 * agent does not serve it twice. One that may not be served yet comes again with the next answer.
 */
import * as z from 'zod';
import {
  servedRestartSchema,
  type FleetWord,
  type RestartOrder,
  type ServedRestart,
} from '#shared/protocol/report.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import { messageOf } from '#shared/runtime/errors.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { openStateFile } from '../io/state-file.ts';

export type Restart = {
  take: (order: RestartOrder | undefined) => void;
  /** What the next pass is to load anew; undefined: nothing. */
  due: () => RestartOrder | undefined;
  /** `done`: its service was reloaded; false: this OpenWRT has none. */
  served: (order: RestartOrder, done: boolean) => void;
  word: () => Pick<FleetWord, 'restarted'>;
};

export type RestartDeps = {
  file: string;
  /** Nothing may be written to OpenWRT. */
  paused: () => boolean;
  /** `due` is another. */
  onOrder: () => void;
  /** `word` is another. */
  onServed: (served: ServedRestart & RestartOrder) => void;
  clock: Pick<Clock, 'now'>;
  log: Logger;
};

const LEAST_MS = 600_000;

/** `at`: wall-clock milliseconds. */
const keptSchema = z.object({
  version: z.literal(1),
  last: servedRestartSchema.extend({ at: z.number() }).optional(),
});

/** @throws when the file exists and cannot be read */
export const openRestart = async ({
  file: path,
  paused,
  onOrder,
  onServed,
  clock,
  log,
}: RestartDeps): Promise<Restart> => {
  const file = await openStateFile({ path, schema: keptSchema, initial: { version: 1 }, log });
  let { last } = file.value();
  let due: RestartOrder | undefined;
  let writing = Promise.resolve();

  /** By a clock that was set back a request would wait for as long as that. */
  const isTooSoon = (): boolean => {
    const sinceMs = clock.now() - (last?.at ?? -Infinity);
    return sinceMs >= 0 && sinceMs < LEAST_MS;
  };

  return {
    take: (order) => {
      if (!order || order.id === last?.id || due || paused() || isTooSoon()) return;
      log.info({ service: order.service, request: order.id }, 'a user wants a service restarted');
      due = order;
      onOrder();
    },
    due: () => due,
    served: (order, done) => {
      due = undefined;
      last = { id: order.id, done, at: clock.now() };
      const kept = { version: 1 as const, last };
      // One that cannot be kept holds while this agent runs: the report names the state folder.
      writing = writing
        .then(() => file.write(kept))
        .catch((error: unknown) =>
          log.warn({ reason: messageOf(error) }, 'failed to keep that a service was restarted'),
        );
      onServed({ ...order, done });
    },
    word: () => (last ? { restarted: { id: last.id, done: last.done } } : {}),
  };
};
