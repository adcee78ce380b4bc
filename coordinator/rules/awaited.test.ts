import { beforeEach, expect, it } from 'vitest';
import type { Clock } from '#shared/runtime/clock.ts';
import { target } from '../testing/facts.ts';
import { Awaited } from './awaited.ts';

let timeUp: () => void;
let told: number;
let awaited: Awaited;

beforeEach(() => {
  told = 0;
  const clock = {
    after: (_ms: number, callback: () => void) => {
      timeUp = callback;
      return () => undefined;
    },
  } as Partial<Clock> as Clock;
  awaited = new Awaited();
  const pods = [target('a'), target('b'), target('bare', { agent: { state: 'missing' } })];
  awaited.begin(pods, { timeMs: 1_000, clock, onTimeUp: () => (told += 1) });
});

it('awaits the pods that can report, until they have', () => {
  expect([...awaited.uids]).toEqual(['uid-a', 'uid-b']);
  awaited.settle('uid-a');
  expect([...awaited.uids]).toEqual(['uid-b']);
});

it('calls back when the time is up, and awaits no pod any more', () => {
  timeUp();
  expect([told, awaited.uids.size]).toEqual([1, 0]);
});

it('does not call back when all have reported', () => {
  awaited.settle('uid-a');
  awaited.settle('uid-b');
  timeUp();
  expect(told).toBe(0);
});
