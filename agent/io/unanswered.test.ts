import { beforeEach, expect, it } from 'vitest';
import { createManualClock, type ManualClock } from '#shared/runtime/testing/manual-clock.ts';
import { createUnanswered, type Unanswered } from './unanswered.ts';

let clock: ManualClock;
let unanswered: Unanswered;
let begin: number;

beforeEach(() => {
  clock = createManualClock();
  clock.advance(1_000);
  begin = clock.monotonic();
  unanswered = createUnanswered(clock);
});

const call = () => {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const ended = unanswered.during(() => promise).catch((error: unknown) => error);
  const end = async (by: () => void): Promise<void> => {
    by();
    await ended;
  };
  return {
    answer: () => end(() => resolve('here')),
    fail: () => end(() => reject(new Error('refused'))),
  };
};

it('is counted from the beginning of the call that waits, until it is answered', async () => {
  expect(unanswered.since()).toBeUndefined();
  const { answer } = call();
  clock.advance(7_000);
  expect(unanswered.since()).toBe(begin);
  await answer();
  expect(unanswered.since()).toBeUndefined();
});

it('is counted from the first of the calls that failed one after the other', async () => {
  await call().fail();
  clock.advance(2_000);
  await call().fail();
  expect(unanswered.since()).toBe(begin);
  await call().answer();
  expect(unanswered.since()).toBeUndefined();
});

it('ends with the answer to any of the calls that are under way, and begins anew for the others', async () => {
  const [one, other] = [call(), call()];
  clock.advance(3_000);
  await one.answer();
  expect(unanswered.since()).toBe(begin + 3_000);
  clock.advance(1_000);
  await other.fail();
  expect(unanswered.since()).toBe(begin + 3_000);
});
