import { expect, it } from 'vitest';
import { REPORT_VERSION } from '#shared/protocol/report.ts';
import { createManualClock } from '#shared/runtime/testing/manual-clock.ts';
import { createOrderCheck } from './answered-fields.ts';

it('instructions come from the latest term that was seen, whichever coordinator answers first', () => {
  const clock = createManualClock();
  const isOrder = createOrderCheck(clock);
  const of = (leaseTransitions?: number): boolean =>
    isOrder({
      epoch: 'e',
      version: REPORT_VERSION,
      ...(leaseTransitions !== undefined && { leaseTransitions }),
    });
  expect([of(), of(3), of(2), of(3), of(4), of(3), of()]).toEqual([
    true,
    true,
    false,
    true,
    true,
    false,
    false,
  ]);
  // The API server was set back, and all coordinators count from there.
  clock.advance(60_000);
  expect([of(1), of(2), of(1)]).toEqual([true, true, false]);
});
