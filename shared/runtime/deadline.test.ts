import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { withDeadline } from './deadline.ts';

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
  const ended = withDeadline({ timeoutMs: 50 }, aborted).catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(50);
  expect(await ended).toMatchObject({ name: 'TimeoutError' });
});

it('work is aborted when the caller aborts, with its reason', async () => {
  const caller = new AbortController();
  const ended = withDeadline({ timeoutMs: 50, signal: caller.signal }, aborted).catch(
    (error: unknown) => error,
  );
  caller.abort(new Error('gone'));
  expect(await ended).toMatchObject({ message: 'gone' });
});

it.each<[string, () => Promise<unknown>]>([
  ['ended', async () => 'done'],
  ['failed', () => Promise.reject(new Error('no'))],
])('leaves nothing of the limit once the work has %s', async (_what, work) => {
  await withDeadline({ timeoutMs: 50 }, work).catch(() => undefined);
  expect(vi.getTimerCount()).toBe(0);
});
