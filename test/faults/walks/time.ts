/**
 * Time of a walk: it passes as fast as the code under test lets it, and the same in each replay.
 */
import { sleepOn } from '#shared/runtime/testing/manual-clock.ts';
import type { Clock } from '#shared/runtime/clock.ts';

type Entry = { at: number; order: number; callback: () => void };

export type Time = Clock & {
  /**
   * Lets that much pass; after each thing that was due, all that follows from it without waiting.
   */
  pass: (ms: number) => Promise<void>;
  /**
   * No more passes: what still runs is asked to end, since Node keeps what waits for a signal of
   * `AbortSignal.any`.
   */
  end: () => Promise<void>;
  ended: AbortSignal;
};

const BEGIN = Date.parse('2026-01-02T03:04:05.600Z');

export const createTime = (): Time => {
  let now = 0;
  let count = 0;
  const due = createHeap();
  const ending = new AbortController();
  const after: Clock['after'] = (ms, callback) => {
    const entry = { at: now + Math.max(0, ms), order: (count += 1), callback };
    due.add(entry);
    return () => {
      entry.callback = () => undefined;
    };
  };
  return {
    now: () => BEGIN + now,
    monotonic: () => now,
    after,
    sleep: sleepOn(after),
    pass: async (ms) => {
      const end = now + ms;
      await settle();
      for (let next = due.first(); next && next.at <= end; next = due.first()) {
        due.take();
        now = Math.max(now, next.at);
        next.callback();
        await settle();
      }
      now = end;
    },
    end: () => {
      ending.abort();
      return settle();
    },
    ended: ending.signal,
  };
};

const settle = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

const isBefore = (one: Entry, other: Entry): boolean =>
  one.at < other.at || (one.at === other.at && one.order < other.order);

/** A binary heap. */
const createHeap = () => {
  const entries: Entry[] = [];
  const swap = (a: number, b: number): void => {
    [entries[a], entries[b]] = [entries[b]!, entries[a]!];
  };
  return {
    first: (): Entry | undefined => entries[0],
    add: (entry: Entry): void => {
      let at = entries.push(entry) - 1;
      while (at > 0) {
        const parent = (at - 1) >> 1;
        if (!isBefore(entries[at]!, entries[parent]!)) return;
        swap(at, parent);
        at = parent;
      }
    },
    take: (): void => {
      const last = entries.pop()!;
      if (entries.length === 0) return;
      entries[0] = last;
      for (let at = 0; ;) {
        const children = [2 * at + 1, 2 * at + 2].filter((child) => child < entries.length);
        const [smaller] = children.sort((a, b) => (isBefore(entries[a]!, entries[b]!) ? -1 : 1));
        if (smaller === undefined || isBefore(entries[at]!, entries[smaller]!)) return;
        swap(at, smaller);
        at = smaller;
      }
    },
  };
};
