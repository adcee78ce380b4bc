import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { withinTime } from './time-limit.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const aborted = (signal: AbortSignal): Promise<unknown> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });

it('work that takes too long is aborted', async () => {
  const ended = withinTime(50, undefined, aborted).catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(50);
  expect(await ended).toMatchObject({ name: 'TimeoutError' });
});

it('work is aborted when the caller aborts, with its reason', async () => {
  const caller = new AbortController();
  const ended = withinTime(50, caller.signal, aborted).catch((error: unknown) => error);
  caller.abort(new Error('gone'));
  expect(await ended).toMatchObject({ message: 'gone' });
});

it.each<[string, () => Promise<unknown>]>([
  ['ended', async () => 'done'],
  ['failed', () => Promise.reject(new Error('no'))],
])('nothing is left of the limit once the work has %s', async (_what, work) => {
  await withinTime(50, undefined, work).catch(() => undefined);
  expect(vi.getTimerCount()).toBe(0);
});
