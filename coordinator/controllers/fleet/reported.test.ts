import { expect, it } from 'vitest';
import { context, report, rule, SILENT_AFTER, cnfPod, UPTIME, word } from '../../testing/facts.ts';
import type { PodReport } from '../../rule-status/pod-report.ts';
import { standingOf } from './reported.ts';

const pod = cnfPod('cnf-1-a', { ready: false });
const of = (said: PodReport | undefined, now = context()) => standingOf([rule()], pod, said, now);
const missed = (reason: string, refused: boolean) =>
  new Map([['FirewallRule reject-80', { refused, reason }]]);

it.each<[string, PodReport, ReturnType<typeof of>['missing']]>([
  ['has it', report([word()]), new Map()],
  [
    'cannot have it as things are',
    report([word({ state: 'Pending', reason: 'WaitingForInterface' })]),
    missed('WaitingForInterface', true),
  ],
  [
    'is refused it',
    report([word({ state: 'Failed', reason: 'RefusedByOpenwrt' })]),
    missed('RefusedByOpenwrt', true),
  ],
  [
    'was refused it at an earlier revision',
    report([word({ state: 'Failed', reason: 'RefusedByOpenwrt', revision: 'r1', generation: 1 })]),
    missed('Outdated', false),
  ],
  [
    'is getting it',
    report([word({ state: 'Pending', reason: 'Applying' })]),
    missed('Applying', false),
  ],
  ['has said nothing of it', report([]), missed('Applying', false)],
])('knows a pod behind its gate that %s', (_, said, missing) => {
  expect(of(said)).toEqual({ link: 'Connected', missing });
});

it('asks no pod for a rule that is being deleted', () => {
  expect(standingOf([rule({ deletedAt: 1 })], pod, report([]), context()).missing.size).toBe(0);
});

it('takes an agent without a report for silent, unless this coordinator waits for it', () => {
  expect(of(undefined).link).toBe('Silent');
  expect(of(undefined, context({ missingReports: new Set([pod.uid]) })).link).toBe('Unknown');
  const long = report([word()], {
    receivedAt: { monotonic: UPTIME - SILENT_AFTER - 1, wall: 0 },
  });
  expect(of(long).link).toBe('Silent');
});
