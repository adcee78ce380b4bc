/** One watch, from its opening to its end: the server's lines become events or typed errors, and silence becomes an error. */
import type { Clock } from '../runtime/clock.ts';
import type { KubeClient, WatchOptions } from './client.ts';
import { KubeError } from './errors.ts';
import { linesOf } from './lines.ts';
import type { KubeObject, ResourceType } from './objects.ts';
import { resourceName } from './path.ts';
import type { StatusBody } from './request.ts';
import { WatchSilence } from './watch-state.ts';

export type WatchEvent<T> = { type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'; object: T };

export type WatchEventsOptions = WatchOptions & {
  client: KubeClient;
  resource: ResourceType;
  /** Longest time without a byte from the server. */
  silenceMs: number;
  /** The server has accepted the watch. */
  onOpen: () => void;
  clock: Clock;
};

/** Ends when the server ends the watch. @throws KubeError (`isGone`: list again), WatchSilence, the reason of `signal` */
export async function* watchEvents<T extends KubeObject>(
  options: WatchEventsOptions,
): AsyncGenerator<WatchEvent<T>> {
  const { client, resource, silenceMs, onOpen, clock, signal, ...watch } = options;
  const watchdog = new AbortController();
  const bark = (): void => watchdog.abort(new WatchSilence(`nothing heard for ${silenceMs} ms`));
  let calm = clock.after(silenceMs, bark);
  async function* heard(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
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
    for await (const line of linesOf(heard(chunks))) yield parseEvent<T>(resource, line);
  } finally {
    calm();
  }
}

type Line<T> = WatchEvent<T> | { type: 'ERROR'; object: StatusBody };

const parseEvent = <T extends KubeObject>(resource: ResourceType, line: string): WatchEvent<T> => {
  const attempted = `watch ${resourceName(resource)}`;
  let event: Line<T>;
  try {
    event = JSON.parse(line);
  } catch (cause) {
    throw new KubeError(attempted, 'not JSON', { status: 0, reason: 'Malformed', cause });
  }
  switch (event.type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
    case 'BOOKMARK':
      return event;
    case 'ERROR': {
      const { code = 0, reason = 'Unknown', message = 'error' } = event.object;
      throw new KubeError(attempted, message, { status: code, reason });
    }
    default:
      throw new KubeError(attempted, `unknown event ${line.slice(0, 100)}`, {
        status: 0,
        reason: 'Malformed',
      });
  }
};
