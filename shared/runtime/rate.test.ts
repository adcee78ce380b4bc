import { expect, it } from 'vitest';
import { Rate } from './rate.ts';

const setUp = (keys?: number) => {
  const time = { now: 0 };
  const rate = new Rate({
    perSecond: 2,
    atOnce: 3,
    clock: { monotonic: () => time.now },
    ...(keys !== undefined && { keys }),
  });
  const takes = (key: string, times: number): number =>
    Array.from({ length: times }, () => rate.take(key)).filter(Boolean).length;
  return { rate, time, takes };
};

it('allows so many at once, and then so many a second', () => {
  const { time, takes } = setUp();
  expect(takes('a', 10)).toBe(3);
  time.now += 400;
  expect(takes('a', 10)).toBe(0);
  time.now += 600;
  expect(takes('a', 10)).toBe(2);
  time.now += 3_600_000;
  expect(takes('a', 10)).toBe(3);
});

it('allows what counts as several while so many are left', () => {
  const { rate } = setUp();
  expect([rate.take('a', 2), rate.take('a', 2), rate.take('a')]).toEqual([true, false, true]);
});

it('counts each key by itself', () => {
  const { takes } = setUp();
  expect([takes('a', 10), takes('b', 10)]).toEqual([3, 3]);
});

it('remembers no more keys than its limit', () => {
  const { takes } = setUp(2);
  takes('a', 3);
  takes('b', 3);
  takes('c', 3);
  expect([takes('c', 1), takes('a', 1)]).toEqual([0, 1]);
});
