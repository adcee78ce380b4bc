import { expect, it } from 'vitest';
import { slopeOf } from './slope.ts';

const over = (value: (at: number) => number) =>
  Array.from({ length: 100 }, (_, at) => ({ at, value: value(at) }));

it('is the rise of what rises, and none of what goes up and down', () => {
  expect(slopeOf(over((at) => 7 + 3 * at))).toBeCloseTo(3);
  expect(slopeOf(over((at) => 5 + (at % 2)))).toBeCloseTo(0, 2);
});

it('is none of one sample, or of none', () => {
  expect(slopeOf([{ at: 1, value: 1 }])).toBe(0);
  expect(slopeOf([])).toBe(0);
});
