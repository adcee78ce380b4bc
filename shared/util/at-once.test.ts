import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { atOnce } from './at-once.ts';

it('works on all items in their order, and on no more than that many at a time', async () => {
  let running = 0;
  let most = 0;
  const begun: number[] = [];
  await atOnce([1, 2, 3, 4, 5], 2, async (item) => {
    begun.push(item);
    running += 1;
    most = Math.max(most, running);
    await turn();
    running -= 1;
  });
  expect(begun).toEqual([1, 2, 3, 4, 5]);
  expect([most, running]).toEqual([2, 0]);
});

it('begins nothing after a failure, waits for what is under way, and throws the first', async () => {
  const ended: number[] = [];
  const working = atOnce([1, 2, 3, 4], 2, async (item) => {
    if (item === 2) throw new Error('two');
    await turn();
    ended.push(item);
  });
  await expect(working).rejects.toThrow('two');
  expect(ended).toEqual([1]);
});

it('has nothing to do for nothing', async () => {
  await expect(atOnce([], 3, async () => expect.unreachable())).resolves.toBeUndefined();
});
