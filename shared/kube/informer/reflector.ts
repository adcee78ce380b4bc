/**
 * Keeps a store equal to what the API server has of one resource: a complete list, then a watch
 * from there on, for ever. Errors change the state and never the store. One watch costs about one
 * request per seven minutes at rest: the server ends it after 5 to 10 minutes, bookmarks keep the
 * place, and it goes on from there without a new list.
 */
import { isDeepStrictEqual } from 'node:util';
import { aborted } from '../../runtime/aborted.ts';
import { createBackoff, jittered, type Backoff } from '../../runtime/backoff.ts';
import { systemClock, type Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/log.ts';
import { PAGE_SIZE, type KubeClient, type Selection } from '../client.ts';
import { isGone, KubeError } from '../errors.ts';
import type { KubeObject, ResourceType, RuleObject } from '../objects.ts';
import { resourceName } from '../path.ts';
import { Store, type Indices, type ReadonlyStore, type StoreEvent } from './store.ts';
import { watchEvents } from './watch-events.ts';
import { failedState, type WatchState } from './watch-state.ts';

export type ReflectorTimings = {
  /** The server is asked to end each watch after a time between these two. */
  serverTimeoutSeconds: readonly [min: number, max: number];
  /** No data for this long: new list. The server sends a bookmark a minute, so two were missed. */
  silenceMs: number;
  /** Bounds of the wait after a failure. */
  baseBackoffMs: number;
  maxBackoffMs: number;
  /**
   * Between looks for a kind that the server does not serve (404): a CRD that is deleted and
   * created anew is soon there again.
   */
  notServedRetryMs: number;
  /**
   * The same once it has not been served for `absentAfterMs`, e.g. a kind of a later version:
   * hundreds of agents may ask.
   */
  absentRetryMs: number;
  absentAfterMs: number;
  /** A new list though nothing seems wrong; 0: never. Jittered. */
  relistMs: number;
};

export const DEFAULT_TIMINGS: ReflectorTimings = {
  serverTimeoutSeconds: [300, 600],
  silenceMs: 130_000,
  baseBackoffMs: 500,
  maxBackoffMs: 30_000,
  notServedRetryMs: 4_000,
  absentRetryMs: 30_000,
  absentAfterMs: 600_000,
  relistMs: 0,
};

export type ReflectorOptions<T extends KubeObject> = {
  client: KubeClient;
  /** Its schema says what is kept of an object. */
  resource: ResourceType<T>;
  selection?: Selection;
  /** By which the store can be asked. */
  indices?: Indices<T>;
  /** Not all of it could be kept: the next list brings it again, at the same version. */
  isPartial?: (object: T) => boolean;
  /** Called after the store has changed. Must return at once and not throw: mark what is dirty. */
  onEvent?: (event: StoreEvent<T>) => void;
  /** Called when any part of the state changes, e.g. `listed`. Same rules. */
  onState?: (state: WatchState) => void;
  /**
   * No event for updates that change only the status, of kinds with `generation`. The store has
   * them.
   */
  ignoreStatusUpdates?: boolean;
  timings?: Partial<ReflectorTimings>;
  log: Logger;
  clock?: Clock;
  random?: () => number;
};

/** For a page: longer than for other requests, since it can be large. */
const LIST_TIMEOUT_MS = 60_000;
/**
 * A watch that ends sooner and has brought nothing counts as a failure, so that a server that ends
 * each at once is not asked without pause. One that has brought something does not: the API server
 * ends the watch of who reads large objects slower than they change, several times a second.
 */
const SHORTEST_WATCH_MS = 1_000;

export class Reflector<T extends KubeObject = RuleObject> {
  readonly resource: ResourceType<T>;
  readonly #options: ReflectorOptions<T>;
  readonly #timings: ReflectorTimings;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #backoff: Backoff;
  readonly #store: Store<T>;
  #state: WatchState = { phase: 'Syncing', message: 'not listed yet', listed: false };
  /** Where the watch goes on; undefined: a list is needed first. */
  #resourceVersion: string | undefined;
  #notServedSince: number | undefined;
  /** Ends the running request, so that a new list is taken. */
  #cut = new AbortController();
  #cancelRelist = (): void => undefined;
  /** Those who wait for a list that begins from now on. */
  #waiting: (() => void)[] = [];

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.resource = options.resource;
    this.#timings = { ...DEFAULT_TIMINGS, ...options.timings };
    this.#store = new Store(options.indices, options.isPartial);
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    const { baseBackoffMs: baseMs, maxBackoffMs: maxMs } = this.#timings;
    this.#backoff = createBackoff({ baseMs, maxMs, random: this.#random });
  }

  get store(): ReadonlyStore<T> {
    return this.#store;
  }

  get state(): WatchState {
    return this.#state;
  }

  /** True for ever after the first complete list. */
  hasSynced(): boolean {
    return this.#state.listed;
  }

  /** Takes a complete list now, e.g. because the store does not explain what was found. */
  relist(): void {
    this.#cut.abort();
  }

  /** The same; resolves when the store is as new as the API server is now, or the signal aborts. */
  async catchUp(signal: AbortSignal): Promise<void> {
    const caughtUp = new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.relist();
    await Promise.race([caughtUp, aborted(signal)]);
  }

  /** Runs until the signal aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#cut = new AbortController();
      const either = AbortSignal.any([signal, this.#cut.signal]);
      try {
        await this.#listAndWatch(either);
      } catch (error) {
        if (!either.aborted) {
          const waitMs = this.#afterFailure(error);
          await this.#clock.sleep(waitMs, either).catch(() => undefined);
        }
      }
      if (this.#cut.signal.aborted) this.#resourceVersion = undefined;
    }
    this.#cancelRelist();
    this.#options.client.onWatchState?.(this, resourceName(this.resource), undefined);
  }

  async #listAndWatch(signal: AbortSignal): Promise<void> {
    this.#resourceVersion ??= await this.#list(signal);
    const from = this.#resourceVersion;
    const openedAt = this.#clock.monotonic();
    const hasWorked = (): boolean =>
      this.#resourceVersion !== from || this.#clock.monotonic() - openedAt >= SHORTEST_WATCH_MS;
    try {
      await this.#watch(from, signal);
    } finally {
      if (hasWorked()) this.#backoff.reset();
    }
    if (!hasWorked()) throw new Error('the server ends each watch at once');
  }

  async #list(signal: AbortSignal): Promise<string> {
    const { client, selection } = this.#options;
    const waiting = new Set(this.#waiting);
    const list = await client.list(this.resource, {
      ...selection,
      signal,
      timeoutMs: LIST_TIMEOUT_MS,
      pageSize: PAGE_SIZE,
    });
    this.#notServedSince = undefined;
    this.#emit(this.#store.replace(list.items));
    this.#setState({ ...this.#state, listed: true });
    this.#waiting = this.#waiting.filter((resolve) => !waiting.has(resolve));
    for (const resolve of waiting) resolve();
    this.#cancelRelist();
    const { relistMs } = this.#timings;
    if (relistMs > 0) {
      const inMs = jittered(relistMs, 0.2, this.#random);
      this.#cancelRelist = this.#clock.after(inMs, () => this.relist());
    }
    return list.resourceVersion;
  }

  async #watch(resourceVersion: string, signal: AbortSignal): Promise<void> {
    const { client, selection } = this.#options;
    const { serverTimeoutSeconds, silenceMs } = this.#timings;
    const [min, max] = serverTimeoutSeconds;
    const events = watchEvents({
      ...selection,
      client,
      resource: this.resource,
      resourceVersion,
      timeoutSeconds: Math.round(min + (max - min) * this.#random()),
      silenceMs,
      onOpen: () => this.#setState({ phase: 'Synced', message: '', listed: true }),
      clock: this.#clock,
      signal,
    });
    for await (const { type, object } of events) {
      if (type === 'DELETED') {
        this.#emit(this.#store.remove(object.metadata.uid, object));
      } else if (type !== 'BOOKMARK') {
        this.#emit(this.#store.put(object));
      }
      this.#resourceVersion = object.metadata.resourceVersion;
    }
  }

  /** Says what is wrong and decides from where to go on. Milliseconds until then. */
  #afterFailure(error: unknown): number {
    const { listed } = this.#state;
    const state = failedState(error, listed);
    const backoffMs = this.#backoff.next();
    const placeIsLost = isGone(error) || state.phase === 'NotServed' || state.phase === 'Silent';
    if (placeIsLost) this.#resourceVersion = undefined;
    // Watches lose a connection now and then; it is reported when the next attempt fails too.
    const passing = state.phase === 'Failing' && listed && this.#backoff.failures() === 1;
    if (!passing) this.#setState(state);
    if (state.phase === 'NotServed') return this.#untilServed();
    const askedMs = error instanceof KubeError ? (error.retryAfterMs ?? 0) : 0;
    return Math.max(backoffMs, askedMs);
  }

  /** Milliseconds until the next look. */
  #untilServed(): number {
    const { notServedRetryMs, absentRetryMs, absentAfterMs } = this.#timings;
    const now = this.#clock.monotonic();
    this.#notServedSince ??= now;
    const isAbsent = now - this.#notServedSince >= absentAfterMs;
    return jittered(isAbsent ? absentRetryMs : notServedRetryMs, 0.2, this.#random);
  }

  #emit(events: readonly StoreEvent<T>[]): void {
    const { onEvent, ignoreStatusUpdates } = this.#options;
    for (const event of events) {
      if (ignoreStatusUpdates && event.type === 'updated' && onlyStatusDiffers(event)) continue;
      onEvent?.(event);
    }
  }

  #setState(state: WatchState): void {
    const { phase, message, listed } = this.#state;
    if (state.phase === phase && state.message === message && state.listed === listed) return;
    this.#state = state;
    if (state.phase !== phase) {
      const level = state.phase === 'Synced' ? 'info' : 'warn';
      const fields = { resource: resourceName(this.resource), phase: state.phase };
      this.#options.log[level]({ ...fields, reason: state.message }, 'watch state changed');
      this.#options.client.onWatchState?.(this, fields.resource, state.phase);
    }
    this.#options.onState?.(state);
  }
}

const onlyStatusDiffers = ({ object, old }: { object: KubeObject; old: KubeObject }): boolean => {
  const now = object.metadata;
  const before = old.metadata;
  return (
    now.generation !== undefined &&
    now.generation === before.generation &&
    now.deletionTimestamp === before.deletionTimestamp &&
    isDeepStrictEqual(now.labels, before.labels) &&
    isDeepStrictEqual(now.annotations, before.annotations) &&
    isDeepStrictEqual(now.finalizers, before.finalizers)
  );
};
