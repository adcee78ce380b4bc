import { expect, it } from 'vitest';
import { NOW, sentReport, target } from '../testing/facts.ts';
import { Reports } from '../reports/reports.ts';
import { Awaited } from './awaited.ts';
import { censusOf } from './census.ts';

const SILENT_AFTER = 1_000;

it('a pod that does not report is silent when its time is up, whether or not this leader ever received a report of it', () => {
  const reports = new Reports({ silentAfterMs: SILENT_AFTER });
  const awaited = new Awaited({ silentAfterMs: SILENT_AFTER });
  const pods = [target('a'), target('b'), target('c'), target('gone', { terminating: true })];
  const silentAt = (monotonic: number): number =>
    censusOf(pods, reports, { monotonic, silentAfterMs: SILENT_AFTER, awaited }).find(
      ([{ state }]) => state === 'silent',
    )?.[1] ?? 0;
  awaited.begin(pods.slice(1));
  reports.accept('uid-a', sentReport(), { monotonic: 0, wall: NOW });
  expect(silentAt(0)).toBe(0);
  awaited.listened(SILENT_AFTER);
  expect(silentAt(SILENT_AFTER)).toBe(2);
  awaited.settle('uid-c');
  expect(silentAt(SILENT_AFTER + 1)).toBe(2);
});
