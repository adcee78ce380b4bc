import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { createPasses } from './passes.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const setUp = (pass: () => Promise<void>) => {
  const errors: unknown[] = [];
  const { signal } = new AbortController();
  const deps = { now: Date.now, onError: (error: unknown) => errors.push(error), signal };
  return { passes: createPasses(pass, deps), errors };
};

it('makes one more pass of all requests during a pass, never two at once', async () => {
  let running = 0;
  let most = 0;
  let count = 0;
  const { passes } = setUp(async () => {
    most = Math.max(most, (running += 1));
    await new Promise((resolve) => setTimeout(resolve, 10));
    running -= 1;
    count += 1;
  });
  passes.request();
  passes.request();
  passes.request();
  await vi.advanceTimersByTimeAsync(100);
  expect({ count, most }).toEqual({ count: 2, most: 1 });
});

it('tries again after a failure', async () => {
  let count = 0;
  const { passes, errors } = setUp(async () => {
    count += 1;
    if (count === 1) throw new Error('first');
  });
  passes.request();
  await vi.advanceTimersByTimeAsync(1000);
  expect(count).toBe(2);
  expect(errors).toHaveLength(1);
});

it('wakes at the time last given, and not after it was stopped', async () => {
  const times: number[] = [];
  const start = Date.now();
  const { passes } = setUp(async () => {
    times.push(Date.now() - start);
  });
  passes.wakeAt(start + 100);
  passes.wakeAt(start + 300);
  await vi.advanceTimersByTimeAsync(1000);
  expect(times).toEqual([300]);
  passes.wakeAt(Date.now() + 100);
  passes.stop();
  await vi.advanceTimersByTimeAsync(1000);
  expect(times).toEqual([300]);
});
