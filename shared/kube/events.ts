/**
 * Events on objects, as `kubectl describe` shows them. The same words about the same object become
 * one Event with a count; an object that causes too many loses the surplus. Writing is in the
 * background and best effort: nothing waits for an Event.
 */
import { createHash } from 'node:crypto';
import * as z from 'zod';
import { atOnce } from '../util/at-once.ts';
import { systemClock, type Clock } from '../runtime/clock.ts';
import { withDeadline } from '../runtime/deadline.ts';
import type { Logger } from '../runtime/log.ts';
import { Recent } from '../util/recent.ts';
import { WorkQueue } from '../runtime/work-queue.ts';
import type { KubeClient } from './client.ts';
import { isConflict, isNotFound, KubeError } from './errors.ts';
import { resourceV1, type KubeObject } from './objects.ts';

export type RecordedEvent = {
  object: KubeObject;
  type: 'Normal' | 'Warning';
  /** CamelCase. */
  reason: string;
  message: string;
  /** It changes nothing where the same was recorded before, by whichever run of the program. */
  once?: true;
};

export type EventRecorderOptions = {
  client: KubeClient;
  /** The source, e.g. `sdewan-coordinator`. */
  component: string;
  /** The pod's name. */
  instance: string;
  /** What is recorded within this time is written together. */
  coalesceMs?: number;
  log: Logger;
  clock?: Clock;
};

const storedSchema = z.object({ count: z.number().optional() });

export const events = resourceV1('', 'events', 'Event', storedSchema);

/** An object may cause this many Events at once, and one more per minute. */
const BURST = 20;
const REFILL_MS = 60_000;
/** The API server refuses longer ones. */
const MAX_MESSAGE_LENGTH = 1_024;
/** What is remembered of Events and of objects; the oldest are forgotten first. */
const MAX_REMEMBERED = 4_096;
/** What has not happened for so long is looked up in the API server when it happens again. */
const REMEMBERED_MS = 300_000;
const FLUSH_MS = 2_000;
const FLUSHED_AT_ONCE = 4;

/** No more of the object than what an Event names: a new version can be large. */
type Entry = Omit<RecordedEvent, 'object'> & {
  involved: { apiVersion: string; kind: string; namespace: string; name: string; uid: string };
  /** Times that it happened and were not written yet. */
  unwritten: number;
  /** What the server has; 0: not known to have it. */
  written: number;
  firstAt: number;
  lastAt: number;
  /** On the monotonic clock: when it happened last. */
  touchedAt: number;
};

export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #clock: Clock;
  readonly #entries = new Recent<Entry>({
    most: MAX_REMEMBERED,
    isOver: ({ unwritten, touchedAt }) =>
      unwritten === 0 && this.#clock.monotonic() - touchedAt > REMEMBERED_MS,
  });
  readonly #budgets = new Recent<{ tokens: number; at: number }>({
    most: MAX_REMEMBERED,
    isOver: (budget) => this.#tokensOf(budget) === BURST,
  });
  readonly #queue: WorkQueue<string>;
  #dropped = 0;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#queue = new WorkQueue<string>({
      work: (name, signal) => this.#write(name, signal),
      groupOf: (name) => this.#entries.get(name)?.involved.namespace ?? '',
      onError: (name, err) =>
        options.log.debug({ event: name, err }, 'failed to write an Event, retrying'),
      clock: this.#clock,
    });
  }

  /** Events that were left out because their object caused too many. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Returns at once. */
  record(event: RecordedEvent): void {
    const { object, ...said } = event;
    const { uid, name, namespace } = object.metadata;
    const message = event.message.slice(0, MAX_MESSAGE_LENGTH);
    const words = JSON.stringify([uid, event.type, event.reason, message, this.#options.component]);
    const hash = createHash('sha256').update(words).digest('hex').slice(0, 16);
    // Made from the message alone, so a restarted program goes on counting where the last one
    // stopped.
    const key = `${name.slice(0, 200)}.${hash}`;
    const known = this.#entries.get(key);
    const touchedAt = this.#clock.monotonic();
    if (known && event.once) {
      known.touchedAt = touchedAt;
      this.#entries.set(key, known);
      return;
    }
    if (!this.#spend(uid)) {
      this.#dropped += 1;
      return;
    }
    const now = this.#clock.now();
    const entry = known ?? {
      ...said,
      message,
      involved: { apiVersion: object.apiVersion, kind: object.kind, namespace, name, uid },
      unwritten: 0,
      written: 0,
      firstAt: now,
      lastAt: now,
      touchedAt,
    };
    if (!event.once) delete entry.once;
    entry.unwritten += 1;
    entry.lastAt = now;
    entry.touchedAt = touchedAt;
    this.#entries.set(key, entry);
    this.#queue.add(key, this.#options.coalesceMs ?? 500);
  }

  /** Writes until the signal aborts. */
  run(signal: AbortSignal): Promise<void> {
    return this.#queue.run(signal);
  }

  /**
   * Writes what `run` had no time for, each Event once: for a program that ends. Resolves after two
   * seconds at most, whatever became of it.
   */
  async flush(): Promise<void> {
    const writing = withDeadline({ timeoutMs: FLUSH_MS, clock: this.#clock }, (signal) =>
      atOnce([...this.#entries.keys()], FLUSHED_AT_ONCE, (name) => this.#write(name, signal)),
    );
    await writing.catch((err: unknown) =>
      this.#options.log.debug({ err }, 'failed to write the last Events'),
    );
  }

  #spend(uid: string): boolean {
    const budget = this.#budgets.get(uid);
    const tokens = budget ? this.#tokensOf(budget) : BURST;
    const granted = tokens >= 1;
    const at = this.#clock.monotonic();
    this.#budgets.set(uid, { tokens: granted ? tokens - 1 : tokens, at });
    return granted;
  }

  #tokensOf({ tokens, at }: { tokens: number; at: number }): number {
    return Math.min(BURST, tokens + (this.#clock.monotonic() - at) / REFILL_MS);
  }

  async #write(name: string, signal: AbortSignal): Promise<void> {
    const entry = this.#entries.get(name);
    if (!entry || entry.unwritten === 0) return;
    const writing = entry.unwritten;
    try {
      entry.written = await this.#createOrCount(name, { ...entry, unwritten: writing }, signal);
      entry.unwritten -= writing;
    } catch (error) {
      const refused = error instanceof KubeError && error.status >= 400 && error.status < 500;
      if (!refused || error.status === 429) throw error;
      // The namespace is being deleted, or we may not: never worth another try.
      this.#entries.delete(name);
      this.#options.log.debug({ event: name, err: error }, 'the API server refused an Event');
    }
  }

  /** The count that the server now has. */
  async #createOrCount(name: string, entry: Entry, signal: AbortSignal): Promise<number> {
    const { client } = this.#options;
    const key = { namespace: namespaceOf(entry), name };
    const addTo = async (written: number): Promise<number> => {
      const count = written + entry.unwritten;
      const body = { count, lastTimestamp: rfc3339(entry.lastAt) };
      await client.patch(events, key, { patch: { type: 'merge', body }, signal });
      return count;
    };
    if (entry.written > 0) {
      try {
        return await addTo(entry.written);
      } catch (error) {
        // Events live for an hour; the next one of these words is a new one.
        if (!isNotFound(error)) throw error;
      }
    }
    try {
      await client.create(events, this.#body(name, entry), { signal });
      return entry.unwritten;
    } catch (error) {
      if (!isConflict(error)) throw error;
      if (entry.once) return 0;
      const { count = 1 } = await client.get(events, key, { signal });
      return addTo(count);
    }
  }

  #body(name: string, entry: Entry) {
    const { component, instance } = this.#options;
    return {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name, namespace: namespaceOf(entry) },
      involvedObject: entry.involved,
      type: entry.type,
      reason: entry.reason,
      message: entry.message,
      count: entry.unwritten,
      firstTimestamp: rfc3339(entry.firstAt),
      lastTimestamp: rfc3339(entry.lastAt),
      source: { component },
      reportingComponent: component,
      reportingInstance: instance,
    };
  }
}

const namespaceOf = ({ involved }: Entry): string => involved.namespace || 'default';

/** Whole seconds, as Kubernetes' Time has them. */
const rfc3339 = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
