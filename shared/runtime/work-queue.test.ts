import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createTrigger } from './trigger.ts';
import { WorkQueue, type WorkQueueOptions } from './work-queue.ts';

let stop: AbortController;
const running: Promise<void>[] = [];

beforeEach(() => {
  vi.useFakeTimers();
  stop = new AbortController();
});

afterEach(async () => {
  stop.abort();
  await Promise.all(running.splice(0));
  vi.useRealTimers();
});

const start = (options: Partial<WorkQueueOptions<string>>): WorkQueue<string> => {
  const queue = new WorkQueue<string>({
    work: async () => undefined,
    onError: () => undefined,
    ...options,
  });
  running.push(queue.run(stop.signal));
  return queue;
};

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

it('works a key once however often it was added', async () => {
  const worked: string[] = [];
  const queue = start({ work: async (key) => void worked.push(key) });
  for (let i = 0; i < 10; i += 1) queue.add('a', 50);
  queue.add('b', 50);
  await vi.advanceTimersByTimeAsync(49);
  expect(worked).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(worked).toEqual(['a', 'b']);
  expect(queue.size).toBe(0);
});

it('waits for a day with a key that is due in a year', async () => {
  const worked: string[] = [];
  const queue = start({ work: async (key) => void worked.push(key) });
  const dayMs = 86_400_000;
  queue.add('a', 365 * dayMs);
  await vi.advanceTimersByTimeAsync(dayMs - 1);
  expect(worked).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(worked).toEqual(['a']);
});

it('takes the earlier of two times', async () => {
  const worked: string[] = [];
  const queue = start({ work: async (key) => void worked.push(key) });
  queue.add('a', 1_000);
  queue.add('a', 10);
  queue.add('a', 500);
  await vi.advanceTimersByTimeAsync(10);
  expect(worked).toEqual(['a']);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(worked).toEqual(['a']);
});

it('never works a key twice at a time, and again when it was added meanwhile', async () => {
  let active = 0;
  let most = 0;
  let runs = 0;
  const work = async (): Promise<void> => {
    runs += 1;
    most = Math.max(most, (active += 1));
    await sleep(100);
    active -= 1;
  };
  const queue = start({ work, concurrency: 5 });
  queue.add('a');
  await vi.advanceTimersByTimeAsync(50);
  queue.add('a');
  queue.add('a');
  await vi.advanceTimersByTimeAsync(500);
  expect({ runs, most }).toEqual({ runs: 2, most: 1 });
});

it('works as many keys at a time as it may', async () => {
  let active = 0;
  let most = 0;
  const work = async (): Promise<void> => {
    most = Math.max(most, (active += 1));
    await sleep(10);
    active -= 1;
  };
  const queue = start({ work, concurrency: 3 });
  for (const key of ['a', 'b', 'c', 'd', 'e']) queue.add(key);
  await vi.advanceTimersByTimeAsync(100);
  expect(most).toBe(3);
});

it('retries a key that throws with its own backoff, and delays no other', async () => {
  const tries: Record<string, number> = {};
  const waits: number[] = [];
  const queue = start({
    work: async (key) => {
      tries[key] = (tries[key] ?? 0) + 1;
      if (key === 'bad' && tries[key] < 4) throw new Error('no');
    },
    backoff: { baseMs: 100, maxMs: 1_000, random: () => 1 },
    onError: (_key, _error, retryInMs) => waits.push(retryInMs),
  });
  queue.add('bad');
  queue.add('good');
  await vi.advanceTimersByTimeAsync(1);
  expect(tries).toEqual({ bad: 1, good: 1 });
  await vi.advanceTimersByTimeAsync(5_000);
  expect(tries).toEqual({ bad: 4, good: 1 });
  expect(waits).toEqual([100, 200, 400]);
});

it('works a key again after the time that the work asked for', async () => {
  let runs = 0;
  const queue = start({ work: async () => ((runs += 1) < 3 ? 1_000 : undefined) });
  queue.add('a');
  await vi.advanceTimersByTimeAsync(10_000);
  expect(runs).toBe(3);
  expect(queue.size).toBe(0);
});

it('begins with short waits again after a success', async () => {
  const outcomes = [false, false, false, true, false];
  const waits: number[] = [];
  const work = async (): Promise<number> => {
    if (outcomes.shift() === false) throw new Error('not now');
    return 10;
  };
  const backoff = { baseMs: 100, maxMs: 10_000, random: () => 0.999 };
  start({ work, backoff, onError: (_key, _error, ms) => waits.push(Math.round(ms)) }).add('a');
  await vi.advanceTimersByTimeAsync(1_000);
  expect(waits).toEqual([100, 200, 400, 100]);
});

it('ends when the work in hand has ended, and starts none after the abort', async () => {
  const log: string[] = [];
  const queue = start({
    work: async (key) => {
      log.push(`begin ${key}`);
      await sleep(100);
      log.push(`end ${key}`);
    },
  });
  queue.add('a');
  queue.add('b');
  queue.add('c', 50);
  await vi.advanceTimersByTimeAsync(1);
  stop.abort();
  queue.add('d');
  void Promise.all(running).then(() => log.push('ended'));
  await vi.advanceTimersByTimeAsync(500);
  await Promise.all(running);
  expect(log).toEqual(['begin a', 'end a', 'ended']);
});

it('works a key that asks for a retry with growing waits, and reports no error', async () => {
  const times: number[] = [];
  const onError = vi.fn<() => void>();
  const work = async (): Promise<'retry' | undefined> => {
    times.push(Date.now());
    return times.length === 20 ? undefined : 'retry';
  };
  const backoff = { baseMs: 100, maxMs: 1_600, random: () => 1 };
  start({ work, onError, backoff }).add('a');
  await vi.advanceTimersByTimeAsync(60_000);
  const waits = times.slice(1).map((at, index) => at - (times[index] ?? 0));
  expect(waits.slice(0, 5)).toEqual([100, 200, 400, 800, 1_600]);
  expect(new Set(waits.slice(5))).toEqual(new Set([1_600]));
  expect(times).toHaveLength(20);
  expect(onError).not.toHaveBeenCalled();
});

it('makes one run of many marks, and another one for a mark during the run', async () => {
  const runs: number[] = [];
  const trigger = createTrigger({
    run: async () => {
      runs.push(Date.now());
      await sleep(30);
    },
    delayMs: 20,
    onError: () => undefined,
  });
  const t0 = Date.now();
  trigger.mark();
  running.push(trigger.start(stop.signal));
  for (let i = 0; i < 19; i += 1) {
    trigger.mark();
    await vi.advanceTimersByTimeAsync(1);
  }
  await vi.advanceTimersByTimeAsync(6);
  trigger.mark();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(runs.map((at) => at - t0)).toEqual([20, 50]);
});

it('lets groups take turns, whatever one of them has waiting', async () => {
  const worked: string[] = [];
  const work = async (key: string): Promise<void> => {
    worked.push(key);
    await sleep(10);
  };
  const groupOf = (key: string): string => key.slice(0, 1);
  const queue = start({ work, groupOf, concurrency: 2 });
  for (let index = 0; index < 5_000; index += 1) queue.add(`a-${index}`);
  await vi.advanceTimersByTimeAsync(5);
  for (const key of ['b-0', 'b-1', 'c-0']) queue.add(key);
  await vi.advanceTimersByTimeAsync(30);
  stop.abort();
  await vi.advanceTimersByTimeAsync(10);
  expect(worked).toEqual(['a-0', 'a-1', 'a-2', 'b-0', 'c-0', 'a-3', 'b-1', 'a-4']);
});

it('tells for how long the key has waited that could have been worked first, and nothing of those that are not due', async () => {
  const finish: (() => void)[] = [];
  const queue = start({ work: () => new Promise((resolve) => finish.push(resolve)) });
  queue.add('first');
  queue.add('second');
  queue.add('later', 60_000);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(queue.waitedMs).toBe(1_000);
  finish.shift()?.();
  await vi.advanceTimersByTimeAsync(0);
  expect(queue.waitedMs).toBe(0);
  for (const end of finish) end();
});
