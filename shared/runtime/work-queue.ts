/**
 * A queue of keys, not of events: a key that is added often is worked once, never twice at a time,
 * and again when it was added while it was worked. A key whose work throws is retried with a
 * backoff of its own, so one bad key harms no other, and groups of keys take turns, so one that has
 * many does not keep the others waiting.
 */
import { createBackoff, type Backoff, type BackoffOptions } from './backoff.ts';
import { systemClock, type Clock } from './clock.ts';
import { Turns } from '../util/turns.ts';

export type WorkQueueOptions<K> = {
  /**
   * Reads the present state for the key by itself. A returned number: milliseconds after which to
   * work it again anyway; `retry`: again with backoff, as after a throw, but without reporting an
   * error.
   */
  work: (key: K, signal: AbortSignal) => Promise<number | 'retry' | void>;
  /** Whose the key is; default: all are one group's. */
  groupOf?: (key: K) => string;
  /** Keys worked at a time. Default 1. */
  concurrency?: number;
  /** Between a throw and the next try of that key. Default 0.2 s up to 30 s. */
  backoff?: BackoffOptions;
  /** Called with each error; the key is retried in any case. */
  onError: (key: K, error: unknown, retryInMs: number) => void;
  clock?: Clock;
};

type Entry = {
  /** Set while the key waits for its time; undefined while it is ready or worked. */
  waiting: { dueAt: number; cancel: () => void } | undefined;
  /** Since when it could be worked; undefined: it is not ready. */
  readySince: number | undefined;
  running: boolean;
  /** Added while it was running: the earliest time at which it has to run again. */
  againAt: number | undefined;
  backoff: Backoff;
};

/**
 * A timer takes 24 days at most, and does not follow a wall clock that is set: what is due later is
 * worked after this time already.
 */
const LONGEST_WAIT_MS = 86_400_000;

export class WorkQueue<K> {
  readonly #options: WorkQueueOptions<K>;
  readonly #clock: Clock;
  readonly #entries = new Map<K, Entry>();
  readonly #ready = new Turns<K>();
  readonly #running = new Set<Promise<void>>();
  #signal: AbortSignal | undefined;

  constructor(options: WorkQueueOptions<K>) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** The key is worked after `delayMs`, or earlier if that was set. Does nothing once stopped. */
  add(key: K, delayMs = 0): void {
    if (this.#signal?.aborted) return;
    const entry = this.#entry(key);
    const dueAt = this.#clock.monotonic() + delayMs;
    if (entry.running) entry.againAt = Math.min(entry.againAt ?? dueAt, dueAt);
    else this.#schedule(key, entry, dueAt);
  }

  /** Keys that wait, are ready or are worked. */
  get size(): number {
    return this.#entries.size;
  }

  /** For how long the key that has waited longest could have been worked, in ms; 0: none waits. */
  get waitedMs(): number {
    const now = this.#clock.monotonic();
    let longest = 0;
    for (const { readySince = now } of this.#entries.values())
      longest = Math.max(longest, now - readySince);
    return longest;
  }

  /** Works keys until the signal aborts and the work in hand has ended. Earlier keys are kept. */
  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    this.#pump();
    if (!signal.aborted)
      await new Promise<void>((resolve) => {
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
    for (const entry of this.#entries.values()) entry.waiting?.cancel();
    await Promise.all(this.#running);
    this.#entries.clear();
    this.#ready.clear();
  }

  #entry(key: K): Entry {
    let entry = this.#entries.get(key);
    if (!entry) {
      const backoff = createBackoff(this.#options.backoff ?? { baseMs: 200, maxMs: 30_000 });
      entry = {
        waiting: undefined,
        readySince: undefined,
        running: false,
        againAt: undefined,
        backoff,
      };
      this.#entries.set(key, entry);
    }
    return entry;
  }

  #schedule(key: K, entry: Entry, dueAt: number): void {
    if (entry.readySince !== undefined || (entry.waiting && entry.waiting.dueAt <= dueAt)) return;
    entry.waiting?.cancel();
    entry.waiting = undefined;
    const delayMs = dueAt - this.#clock.monotonic();
    const becomeReady = (): void => {
      entry.waiting = undefined;
      entry.readySince = this.#clock.monotonic();
      this.#ready.add(this.#options.groupOf?.(key) ?? '', key);
      this.#pump();
    };
    if (delayMs <= 0) becomeReady();
    else {
      const waitMs = Math.min(LONGEST_WAIT_MS, delayMs);
      entry.waiting = { dueAt, cancel: this.#clock.after(waitMs, becomeReady) };
    }
  }

  #pump(): void {
    const signal = this.#signal;
    if (!signal || signal.aborted) return;
    while (this.#running.size < (this.#options.concurrency ?? 1)) {
      const key = this.#ready.take();
      if (key === undefined) return;
      const entry = this.#entry(key);
      entry.readySince = undefined;
      entry.running = true;
      const task = this.#work(key, entry, signal).finally(() => {
        this.#running.delete(task);
        this.#pump();
      });
      this.#running.add(task);
    }
  }

  async #work(key: K, entry: Entry, signal: AbortSignal): Promise<void> {
    let againInMs: number | void;
    try {
      const again = await this.#options.work(key, signal);
      if (again !== 'retry') entry.backoff.reset();
      againInMs = again === 'retry' ? entry.backoff.next() : again;
    } catch (error) {
      againInMs = entry.backoff.next();
      if (!signal.aborted) this.#options.onError(key, error, againInMs);
    }
    entry.running = false;
    const now = this.#clock.monotonic();
    const dueAt = Math.min(
      entry.againAt ?? Infinity,
      againInMs === undefined ? Infinity : now + againInMs,
    );
    entry.againAt = undefined;
    if (signal.aborted || dueAt === Infinity) this.#entries.delete(key);
    else this.#schedule(key, entry, dueAt);
  }
}
