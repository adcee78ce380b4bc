import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createGate } from './gate.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const gate = () => createGate({ most: 10, waiting: 2, timeoutMs: 100 });
const isIn = async (entry: Promise<unknown>): Promise<boolean> => {
  const waits = Symbol('waits');
  return (await Promise.race([entry, Promise.resolve(waits)])) !== waits;
};

it('admits no more than its limit, in order of arrival', async () => {
  const { enter } = gate();
  const leave = await enter(6);
  const large = enter(6);
  const small = enter(1);
  expect([await isIn(large), await isIn(small)]).toEqual([false, false]);
  leave?.();
  expect(await large).toBeTypeOf('function');
  expect(await small).toBeTypeOf('function');
});

it('admits one that is larger than the limit when it is alone', async () => {
  const { enter } = gate();
  const leave = await enter(11);
  const next = enter(1);
  expect(await isIn(next)).toBe(false);
  leave?.();
  expect(await next).toBeTypeOf('function');
});

it('limits how long callers wait, and how many', async () => {
  const { enter } = gate();
  const leave = await enter(10);
  const waiting = [enter(1), enter(1)];
  expect(await enter(1)).toBeUndefined();
  vi.advanceTimersByTime(100);
  expect(await Promise.all(waiting)).toEqual([undefined, undefined]);
  leave?.();
  expect(await enter(10)).toBeTypeOf('function');
});

it('lets groups take turns, so that the first caller of a group is next', async () => {
  const { enter } = gate();
  const order: string[] = [];
  const leave = await enter(10, 'a');
  const entries = ['a', 'a', 'b'].map(async (group) => {
    const out = await enter(10, group);
    order.push(group);
    out?.();
  });
  expect(await enter(10, 'a')).toBeUndefined();
  leave?.();
  await Promise.all(entries);
  expect(order).toEqual(['a', 'b', 'a']);
});

/**
 * Milliseconds that each of ten calls of one group waits, while another always has two hundred
 * waiting, and each is worked on for 50 ms; undefined: refused.
 */
const waitsBeside = async (flood: string, calm: string): Promise<(number | undefined)[]> => {
  const { enter } = createGate({ most: 16, waiting: 256, timeoutMs: 1_500 });
  const work = async (group: string): Promise<number | undefined> => {
    const startedAt = Date.now();
    const leave = await enter(1, group);
    if (leave === undefined) return undefined;
    const waited = Date.now() - startedAt;
    setTimeout(leave, 50);
    return waited;
  };
  const ending = new AbortController();
  const again = async (): Promise<void> => {
    while (!ending.signal.aborted) await work(flood);
  };
  const flooding = Array.from({ length: 200 }, again);
  const waits: (number | undefined)[] = [];
  for (let call = 0; call < 10; call += 1) {
    const waiting = work(calm);
    await vi.advanceTimersByTimeAsync(2_000);
    waits.push(await waiting);
  }
  ending.abort();
  await vi.advanceTimersByTimeAsync(10_000);
  await Promise.all(flooding);
  return waits;
};

it('lets a group wait for one piece of work of another that floods, and without groups for all of it', async () => {
  const beside = await waitsBeside('flood', 'calm');
  const without = await waitsBeside('', '');
  expect(beside.filter((wait) => wait === undefined || wait > 50)).toEqual([]);
  expect(without.filter((wait) => wait === undefined || wait > 500)).toHaveLength(10);
});
