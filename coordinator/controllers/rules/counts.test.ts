import { expect, it } from 'vitest';
import type { RuleStatus } from '#shared/protocol/status.ts';
import { NOW, rule, sentReport, cnfPod } from '../../testing/facts.ts';
import type { Rule } from '../../sources/rule.ts';
import { Reports } from '../../reports/reports.ts';
import { MissingReports } from './missing-reports.ts';
import { agesOf, censusOf, stalledRules } from './counts.ts';

const SILENT_AFTER = 1_000;

it('counts a pod that does not report as silent when its time is up, whether or not this leader ever received a report of it', () => {
  const reports = new Reports({ silentAfterMs: SILENT_AFTER });
  const missingReports = new MissingReports({ silentAfterMs: SILENT_AFTER });
  const pods = [cnfPod('a'), cnfPod('b'), cnfPod('c'), cnfPod('gone', { terminating: true })];
  const silentAt = (monotonic: number): number =>
    censusOf(pods, reports, { monotonic, silentAfterMs: SILENT_AFTER, missingReports }).find(
      ([{ state }]) => state === 'silent',
    )?.[1] ?? 0;
  missingReports.begin(pods.slice(1));
  reports.accept('uid-a', sentReport(), { monotonic: 0, wall: NOW });
  expect(silentAt(0)).toBe(0);
  missingReports.listened(SILENT_AFTER);
  expect(silentAt(SILENT_AFTER)).toBe(2);
  missingReports.settle('uid-c');
  expect(silentAt(SILENT_AFTER + 1)).toBe(2);
});

/** Counts of the rules that are handed over. */
const rulesWith = (...all: readonly Rule[]): Parameters<typeof stalledRules>[0] => ({
  uids: () => Object.keys(all),
  get: (uid) => {
    const found = all[Number(uid)];
    return found && { rule: found };
  },
});

const statusWith = (
  ...conditions: readonly [string, 'True' | 'False', string, number][]
): RuleStatus => ({
  conditions: conditions.map(([type, status, reason, since]) => ({
    type,
    status,
    reason,
    message: '',
    observedGeneration: 1,
    lastTransitionTime: new Date(NOW - since).toISOString(),
  })),
});

it('counts rules that need a change by reason', () => {
  const stalled = statusWith(
    ['Ready', 'False', 'InvalidSpec', 0],
    ['Stalled', 'True', 'InvalidSpec', 0],
  );
  const waiting = statusWith(['Ready', 'False', 'WaitingForReference', 0]);
  const madeUp = (reason: string): RuleStatus => statusWith(['Stalled', 'True', reason, 0]);
  const statuses = [stalled, stalled, waiting, undefined, madeUp('One'), madeUp('Another')];
  const rules = statuses.map((status) => rule({ status }));
  expect(stalledRules(rulesWith(...rules))).toEqual([
    [{ namespace: 'edge', purpose: 'cnf-1', reason: 'InvalidSpec' }, 2],
    [{ namespace: 'edge', purpose: 'cnf-1', reason: 'Other' }, 2],
  ]);
});

it('tells the oldest rule out of sync, deletion and report of each CNF, and nothing of what is as it should be', () => {
  const reports = new Reports({ silentAfterMs: SILENT_AFTER });
  reports.accept('uid-a', sentReport(), { monotonic: 1_000, wall: NOW });
  reports.accept('uid-b', sentReport(), { monotonic: 6_000, wall: NOW });
  const out = (since: number): RuleStatus => statusWith(['Ready', 'False', 'Applying', since]);
  const rules = [
    rule({ status: out(20_000) }),
    rule({ status: out(90_000) }),
    rule({ status: out(300_000), deletedAt: NOW - 5_000 }),
    rule({ purpose: 'cnf-2', status: statusWith(['Ready', 'True', 'InSync', 900_000]) }),
    rule({ purpose: 'cnf-2' }),
  ];
  const pods = [cnfPod('a'), cnfPod('b'), cnfPod('new'), cnfPod('c', { terminating: true })];
  expect(agesOf(rulesWith(...rules), pods, reports, { now: NOW, monotonic: 7_000 })).toEqual([
    [
      { namespace: 'edge', purpose: 'cnf-1' },
      { outOfSync: 90, removal: 5, report: 6 },
    ],
    [
      { namespace: 'edge', purpose: 'cnf-2' },
      { outOfSync: 0, removal: 0, report: 0 },
    ],
  ]);
});

it('counts a pod whose OpenWRT does not answer as long as its agent says so', () => {
  const reports = new Reports({ silentAfterMs: SILENT_AFTER });
  const missingReports = new MissingReports({ silentAfterMs: SILENT_AFTER });
  const context = { monotonic: 0, silentAfterMs: SILENT_AFTER, missingReports };
  const unreachable = (): number | undefined =>
    censusOf([cnfPod('a'), cnfPod('b')], reports, context).find(
      ([{ state }]) => state === 'unreachable',
    )?.[1];
  const openwrt = { reachable: false, driver: 'ubus', message: 'no answer', driftRepairs: 0 };
  reports.accept('uid-a', sentReport({ sequence: 1, openwrt }), { monotonic: 0, wall: NOW });
  expect(unreachable()).toBe(1);
  reports.accept('uid-a', sentReport({ sequence: 2 }), { monotonic: 0, wall: NOW });
  expect(unreachable()).toBe(0);
});
