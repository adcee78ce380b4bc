import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { createBackoff, jittered } from './backoff.ts';

it('doubles its bound from base to max, and begins again after a reset', () => {
  const backoff = createBackoff({ baseMs: 100, maxMs: 1_000, random: () => 1 });
  const waits = [1, 2, 3, 4, 5, 6].map(() => backoff.next());
  expect(waits).toEqual([100, 200, 400, 800, 1_000, 1_000]);
  expect(backoff.failures()).toBe(6);
  backoff.reset();
  expect(backoff.next()).toBe(100);
});

it('never waits zero, nor longer than its bound', () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(200), (random, failures) => {
      const backoff = createBackoff({ baseMs: 100, maxMs: 5_000, random: () => random });
      for (let i = 0; i < failures; i += 1) backoff.next();
      const wait = backoff.next();
      expect(wait).toBeGreaterThanOrEqual(10);
      expect(wait).toBeLessThanOrEqual(5_000);
    }),
  );
});

it('spreads to both sides', () => {
  expect(jittered(1_000, 0.2, () => 0)).toBe(800);
  expect(jittered(1_000, 0.2, () => 1)).toBe(1_200);
});
