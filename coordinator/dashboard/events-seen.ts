/**
 * The latest Events of coordinators, as every replica can read them, for people who look on.
 * Bounded, whatever happens in the cluster: a list at the start of which only the latest are kept,
 * then a watch.
 */
import * as z from 'zod';
import { createBackoff } from '#shared/runtime/backoff.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import { messageOf } from '#shared/runtime/errors.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { PAGE_SIZE, type KubeClient } from '#shared/kube/client.ts';
import { isGone } from '#shared/kube/errors.ts';
import {
  identityOf,
  objectSchema,
  resourceV1,
  type KubeObject,
  type ResourceType,
} from '#shared/kube/objects.ts';
import { watchEvents } from '#shared/kube/informer/watch-events.ts';
import { LatestEvents, type RecentEvent } from './latest-events.ts';

export type EventsSeen = {
  /** Latest first. */
  latest: () => readonly RecentEvent[];
  /** Why they cannot be read at the moment; '' when they can. */
  problem: () => string;
  run: (signal: AbortSignal) => Promise<void>;
};

const MAX_TEXT = 1_024;
const WATCH_SECONDS = 300;
const SILENCE_MS = 330_000;
const LIST_TIMEOUT_MS = 60_000;
/** A watch that ends sooner counts as a failure. */
const SHORTEST_WATCH_MS = 1_000;

const text = z
  .string()
  .nullish()
  .transform((given) => (given ?? '').slice(0, MAX_TEXT));

const said = z.looseObject({
  involvedObject: z.looseObject({ kind: text, name: text, uid: text }),
  type: text,
  reason: text,
  message: text,
  count: z.int().nullish(),
  lastTimestamp: text,
  eventTime: text,
});

type Kept = KubeObject & { seen: RecentEvent };

const events = resourceV1(
  '',
  'events',
  'Event',
  objectSchema.transform((object): Kept => {
    const { involvedObject, type, reason, message, count, lastTimestamp, eventTime } =
      said.parse(object);
    const { kind, name, uid } = involvedObject;
    const seen = {
      namespace: object.metadata.namespace,
      involved: { kind, name, uid },
      type,
      reason,
      message,
      count: count ?? 1,
      last: lastTimestamp || eventTime,
    };
    return { ...identityOf(object), seen };
  }),
);

/** There may be any number of them: none of a list stays in memory beside those that are kept. */
const keptAtOnce = (keep: (event: Kept) => void): ResourceType<KubeObject> => ({
  ...events,
  schema: events.schema.transform((event): KubeObject => {
    keep(event);
    return NOTHING;
  }),
});
const NOTHING: KubeObject = {
  apiVersion: 'v1',
  kind: 'Event',
  metadata: { name: '', namespace: '', uid: '', resourceVersion: '', creationTimestamp: '' },
};

export type EventsSeenDeps = {
  client: Pick<KubeClient, 'list' | 'watch'>;
  namespace: string | undefined;
  component: string;
  onChange: () => void;
  clock: Clock;
  log: Logger;
};

export const createEventsSeen = (deps: EventsSeenDeps): EventsSeen => {
  const { client, clock, component, log, namespace, onChange } = deps;
  const kept = new LatestEvents();
  const selection = { namespace, fieldSelector: `reportingComponent=${component}` };
  const backoff = createBackoff({ baseMs: 500, maxMs: 30_000 });
  let place: string | undefined;
  let problem = 'not read yet';

  const keep = ({ metadata, seen }: Kept): void => kept.set(metadata.uid, seen);
  const list = async (signal: AbortSignal): Promise<string> => {
    const bounds = { signal, pageSize: PAGE_SIZE, timeoutMs: LIST_TIMEOUT_MS };
    const { resourceVersion } = await client.list(keptAtOnce(keep), { ...selection, ...bounds });
    onChange();
    return resourceVersion;
  };
  const follow = async (from: string, signal: AbortSignal): Promise<void> => {
    const watched = watchEvents({
      ...selection,
      client,
      resource: events,
      resourceVersion: from,
      timeoutSeconds: WATCH_SECONDS,
      silenceMs: SILENCE_MS,
      onOpen: () => {
        problem = '';
        onChange();
      },
      clock,
      signal,
    });
    for await (const event of watched) {
      if (event.type === 'ADDED' || event.type === 'MODIFIED') {
        keep(event.object);
        onChange();
      }
      place = event.object.metadata.resourceVersion;
    }
  };
  const once = async (signal: AbortSignal): Promise<void> => {
    place ??= await list(signal);
    const from = place;
    const openedAt = clock.monotonic();
    await follow(from, signal);
    if (place === from && clock.monotonic() - openedAt < SHORTEST_WATCH_MS)
      throw new Error('the server ends each watch at once');
    backoff.reset();
  };

  return {
    latest: () => kept.list(),
    problem: () => problem,
    run: async (signal) => {
      while (!signal.aborted) {
        try {
          await once(signal);
        } catch (error) {
          if (signal.aborted) return;
          if (isGone(error)) place = undefined;
          if (problem !== messageOf(error)) log.warn({ err: error }, 'Events cannot be read');
          problem = messageOf(error);
          onChange();
          await clock.sleep(backoff.next(), signal).catch(() => undefined);
        }
      }
    },
  };
};
