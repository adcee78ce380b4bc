/**
 * One watch, from its opening to its end: the server's lines become events or typed errors, and
 * silence becomes an error.
 */
import * as z from 'zod';
import type { Clock } from '../../runtime/clock.ts';
import type { KubeClient, WatchOptions } from '../client.ts';
import { KubeError } from '../errors.ts';
import { linesOf } from './lines.ts';
import type { KubeObject, ResourceType } from '../objects.ts';
import { resourceName } from '../path.ts';
import { parseAnswer } from '../request.ts';
import { readStatus } from '../status.ts';
import { WatchSilence } from './watch-state.ts';

export type WatchEvent<T> =
  | { type: 'ADDED' | 'MODIFIED' | 'DELETED'; object: T }
  /** Only the place is named. */
  | { type: 'BOOKMARK'; object: { metadata: { resourceVersion: string } } };

export type WatchEventsOptions<T extends KubeObject> = WatchOptions & {
  client: Pick<KubeClient, 'watch'>;
  resource: ResourceType<T>;
  /** Longest time without a byte from the server. */
  silenceMs: number;
  /** The server has accepted the watch. */
  onOpen: () => void;
  clock: Clock;
};

/**
 * Ends when the server ends the watch. @throws KubeError (`isGone`: list again), WatchSilence, the
 * reason of `signal`
 */
export async function* watchEvents<T extends KubeObject>(
  options: WatchEventsOptions<T>,
): AsyncGenerator<WatchEvent<T>> {
  const { client, resource, silenceMs, onOpen, clock, signal, ...watch } = options;
  const watchdog = new AbortController();
  const bark = (): void => watchdog.abort(new WatchSilence(`no data received for ${silenceMs} ms`));
  let calm = clock.after(silenceMs, bark);
  async function* received(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      calm();
      calm = clock.after(silenceMs, bark);
      yield chunk;
    }
  }
  try {
    const bounded = AbortSignal.any([signal, watchdog.signal]);
    const chunks = await client.watch(resource, { ...watch, signal: bounded });
    onOpen();
    const attempted = `watch ${resourceName(resource)}`;
    const schema = lineSchemaOf(resource);
    for await (const line of linesOf(received(chunks))) {
      const event = parseAnswer(attempted, line, schema);
      if (event.type === 'ERROR') throw errorOf(attempted, event.object);
      yield event;
    }
  } finally {
    calm();
  }
}

const lineSchemaOf = <T extends KubeObject>(resource: ResourceType<T>) =>
  z.discriminatedUnion('type', [
    z.object({ type: z.enum(['ADDED', 'MODIFIED', 'DELETED']), object: resource.schema }),
    z.object({ type: z.literal('BOOKMARK'), object: placeSchema }),
    z.object({ type: z.literal('ERROR'), object: z.unknown().transform(readStatus) }),
  ]);

const placeSchema = z.object({ metadata: z.object({ resourceVersion: z.string() }) });

const errorOf = (attempted: string, status: ReturnType<typeof readStatus>): KubeError => {
  const { code = 0, reason = 'Unknown', message = 'error' } = status;
  return new KubeError(attempted, message, { status: code, reason });
};
