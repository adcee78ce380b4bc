import { expect, it } from 'vitest';
import { createManualClock } from '#shared/runtime/testing/manual-clock.ts';
import { createPace } from './pace.ts';

it('lets the first change through at once, and the next one after one to two times what the last one took', () => {
  const clock = createManualClock();
  let random = 0;
  const pace = createPace(clock, () => random);
  expect(pace.waitMs()).toBe(0);
  pace.applied(300);
  expect(pace.waitMs()).toBe(300);
  clock.advance(200);
  expect(pace.waitMs()).toBe(100);
  random = 0.99;
  pace.applied(1_000);
  expect(pace.waitMs()).toBeCloseTo(1_990);
  clock.advance(60_000);
  expect(pace.waitMs()).toBe(0);
});

it('lets one through that cannot wait', () => {
  const pace = createPace(createManualClock());
  pace.applied(10_000);
  pace.skip();
  expect(pace.waitMs()).toBe(0);
});
