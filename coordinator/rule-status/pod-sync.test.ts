import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { caseCount } from '#shared/runtime/testing.ts';
import {
  context,
  factsOf,
  NOW,
  podFacts,
  report,
  rule,
  SILENT_AFTER,
  cnfPod,
  UPTIME,
  word,
} from '../testing/facts.ts';
import { anyRule } from '../testing/rules.ts';
import { podSync } from './pod-sync.ts';
import { rollup } from './rollup.ts';

const a = cnfPod('a');
const zone = { kind: 'FirewallZone', name: 'lan', uid: 'rule-2' };
const both = [rule(), rule(zone)];
const applied = [word(), word(zone)];

describe('a pod with two rules', () => {
  it.each([
    ['that are both applied', report(applied), {}, []],
    ['before its first report', undefined, {}, ['AgentStarting', 'AgentStarting']],
    ['of which it has received one', report([word()]), {}, ['Applying']],
    [
      'one of them at an earlier revision',
      report([word(), word({ ...zone, revision: 'r1' })]),
      {},
      ['Outdated'],
    ],
    [
      'of which one has failed',
      report([word({ state: 'Failed', reason: 'InvalidSpec', message: 'no' }), word(zone)]),
      {},
      ['InvalidSpec'],
    ],
    [
      'that it reported too long ago',
      report(applied, { receivedAt: { monotonic: UPTIME - SILENT_AFTER - 1, wall: NOW } }),
      {},
      ['AgentSilent', 'AgentSilent'],
    ],
    ['and not ready', report(applied), { ready: false }, ['PodNotReady', 'PodNotReady']],
  ] as const)('%s', (_what, said, changes, reasons) => {
    const { inSync, problems } = podSync(both, cnfPod('a', changes), said, context());
    expect(problems.map(({ reason }) => reason)).toEqual(reasons);
    expect(inSync).toBe(reasons.length === 0);
  });

  it('names the rule that is not in sync', () => {
    const { problems } = podSync(both, a, report([word()]), context());
    expect(problems.map(({ rule: { name } }) => name)).toEqual(['lan']);
  });
});

it('gives a pod without rules all of them, also with one that is being deleted', () => {
  expect(podSync([], a, undefined, context()).inSync).toBe(true);
  const deleted = rule({ deletedAt: NOW });
  expect(podSync([deleted], a, undefined, context()).inSync).toBe(true);
});

describe('whatever is known', () => {
  const numRuns = caseCount(2_000);

  it('takes a rule for in sync exactly when there are live pods and it is in sync on each of them', () => {
    fc.assert(
      fc.property(anyRule, podFacts, (subject, pods) => {
        fc.pre(subject.deletedAt === undefined && subject.purpose !== undefined);
        const { pods: all, reports, missingReports } = factsOf(pods);
        const now = context({ missingReports });
        const live = all.filter(({ finished, terminating }) => !finished && !terminating);
        const onEach = live.every(
          (pod) => podSync([subject], pod, reports.get(pod.uid), now).inSync,
        );
        expect(rollup(subject, all, reports, now).inSync).toBe(live.length > 0 && onEach);
      }),
      { numRuns },
    );
  });

  it('takes a pod for in sync with several rules exactly when it is with each', () => {
    fc.assert(
      fc.property(fc.array(anyRule, { maxLength: 3 }), podFacts, (rules, pods) => {
        const { pods: all, reports, missingReports } = factsOf(pods);
        for (const pod of all) {
          const syncOf = (asked: typeof rules) =>
            podSync(asked, pod, reports.get(pod.uid), context({ missingReports })).inSync;
          expect(syncOf(rules)).toBe(rules.every((one) => syncOf([one])));
        }
      }),
      { numRuns },
    );
  });
});
