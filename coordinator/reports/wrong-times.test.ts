import { expect, it } from 'vitest';
import { driftOf } from '../rule-status/drift.ts';
import { NOW, report, rule, sentReport } from '../testing/facts.ts';
import { withoutWrongTimes } from './wrong-times.ts';

const drift = (at: number) => ({ package: 'firewall', section: 's', uid: 'rule-1', at });
const change = (appliedAt: number) => ({
  uid: 'rule-1',
  generation: 1,
  seenAt: 1,
  begunAt: 2,
  compiledAt: 3,
  appliedAt,
});
const WRONG = [1e300, 8.64e15, Date.UTC(9999, 1, 1), NOW + 60_001, -1, -1e300];

it.each([NOW, 1e300])(
  'leaves times that cannot be out of a report, also of a clock that says %d',
  (sentAt) => {
    const sent = sentReport({
      clock: { startedAt: 0, sentAt },
      drifts: [...WRONG, NOW].map(drift),
      times: [...WRONG, NOW].map(change),
    });
    const { drifts = [], times } = withoutWrongTimes(sent, NOW);
    expect([drifts, times]).toEqual([[drift(NOW)], [change(NOW)]]);
    const lastTime = new Date(NOW).toISOString();
    expect(driftOf(rule(), [report([], { drifts })]).drift).toMatchObject({ count: 1, lastTime });
  },
);

it('leaves out what is after the report by the clock of its own node, and adds nothing', () => {
  const sent = sentReport({ clock: { startedAt: 0, sentAt: NOW - 5 }, drifts: [drift(NOW)] });
  expect(withoutWrongTimes(sent, NOW).drifts).toEqual([]);
  expect(withoutWrongTimes(sentReport(), NOW)).toEqual(sentReport());
});
