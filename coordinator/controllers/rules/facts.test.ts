import { beforeEach, expect, it } from 'vitest';
import { systemClock } from '#shared/runtime/clock.ts';
import type { RuleState } from '#shared/protocol/report.ts';
import { Reports } from '../../reports/reports.ts';
import { sentReport, rule, cnfPod } from '../../testing/facts.ts';
import { MissingReports } from './missing-reports.ts';
import { RuleFacts } from './facts.ts';

const own = cnfPod('own');
const foreign = cnfPod('foreign', { purpose: 'cnf-2', serves: 'cnf-2' });

let reports: Reports;
let facts: RuleFacts;

const namesFor = (changes: Parameters<typeof rule>[0]): string[] =>
  facts.podsOf(rule(changes)).map(({ name }) => name);

const says = (state: RuleState): void => {
  reports.accept(
    foreign.uid,
    sentReport({
      purpose: 'cnf-2',
      rules: [
        {
          kind: 'FirewallRule',
          name: 'reject-80',
          uid: 'rule-1',
          generation: 1,
          revision: 'r2',
          state,
          reason: state,
          message: '',
        },
      ],
    }),
    { monotonic: 0, wall: 0 },
  );
};

beforeEach(() => {
  reports = new Reports({ silentAfterMs: 60_000 });
  const pods = {
    ofPurpose: () => [own],
    ofNamespace: () => [own, foreign],
    look: async () => [own, foreign],
  };
  const missingReports = new MissingReports({ silentAfterMs: 60_000 });
  facts = new RuleFacts({
    pods,
    reports,
    missingReports,
    silentAfterMs: 60_000,
    clock: systemClock,
  });
});

it('pods of another purpose do not count for a rule', () => {
  says('Applied');
  expect(namesFor({})).toEqual(['own']);
  expect(namesFor({ purpose: undefined })).toEqual([]);
});

it('takes a pod of another purpose that still reports a rule being deleted for one that has it', async () => {
  says('Applied');
  expect(namesFor({ deletedAt: 1 })).toEqual(['own', 'foreign']);
  expect(await facts.lookForPods(rule({ deletedAt: 1, purpose: undefined }))).toEqual([foreign]);
});

it('does not take it for one if it reports the rule as removed, or not at all', () => {
  expect(namesFor({ deletedAt: 1 })).toEqual(['own']);
  says('Removed');
  expect(namesFor({ deletedAt: 1 })).toEqual(['own']);
});
