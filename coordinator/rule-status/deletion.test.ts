import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { caseCount } from '#shared/runtime/testing.ts';
import {
  NOW,
  SILENT_AFTER,
  UPTIME,
  clockOfRun,
  context,
  factsOf,
  podFacts,
  report,
  rule,
  startOfRun,
  cnfPod,
  word,
  type PodCase,
} from '../testing/facts.ts';
import { isOfEarlierRun } from './earlier-run.ts';
import { STARTED_UNSEEN_MS, decide, type Decision } from './deletion.ts';

const removed = report([word({ state: 'Removed', reason: 'Removed' })]);
const deleted = rule({ deletedAt: NOW - STARTED_UNSEEN_MS });

const decideFor = (pods: readonly Partial<PodCase>[], subject = deleted): Decision => {
  const { pods: all, reports, missingReports } = factsOf(pods);
  return decide(subject, all, reports, context({ missingReports }));
};

describe('a rule that is being deleted goes', () => {
  const cases: Record<string, Partial<PodCase>[]> = {
    'when no pod is left': [],
    'when each pod reported it as removed': [
      { report: removed },
      { pod: cnfPod('b'), report: removed },
    ],
    'whatever a pod without agent does': [
      { pod: cnfPod('b', { agent: { state: 'missing' } }) },
      { report: removed },
    ],
    'whatever a finished pod reported': [
      { pod: cnfPod('b', { finished: true }), report: report([word()]) },
    ],
    'whatever a pod without an owner says, beside those of the CNF': [
      { pod: cnfPod('bare', { owned: false }), report: report([word()]) },
      { report: removed },
    ],
    'whatever a pod without an owner says that has another purpose': [
      {
        pod: cnfPod('evil', { owned: false, serves: 'evil', purpose: 'evil' }),
        report: report([word({ state: 'Pending', reason: 'Removing' })]),
      },
      { report: removed },
    ],
    'when a pod is stuck before its agent ever started': [
      { pod: cnfPod('b', { ready: false, agent: { state: 'never-started', scheduled: true } }) },
    ],
    'when the agent reported so and is silent now': [
      {
        report: {
          ...removed,
          receivedAt: { monotonic: UPTIME - SILENT_AFTER - 1, wall: NOW - SILENT_AFTER - 1 },
        },
      },
    ],
    'when the agent that runs since the last restart reported so': [
      {
        pod: cnfPod('b', { agent: { state: 'started', startedAt: startOfRun(3) } }),
        report: { ...removed, clock: clockOfRun(3) },
      },
    ],
  };
  it.each(Object.entries(cases))('%s', (_name, pods) => {
    expect(decideFor(pods)).toMatchObject({ remove: true, blockers: [] });
  });
});

it('takes what a pod that has confirmed says besides for a remark', () => {
  const left = report([word({ state: 'Removed', reason: 'Removed', message: 'left up' })]);
  const pods = [{ report: left }, { pod: cnfPod('b'), report: removed }];
  expect(decideFor(pods).remarks).toEqual([{ pod: 'a', message: 'left up' }]);
});

describe('a rule that is being deleted stays', () => {
  const cases: Record<string, { pod: Partial<PodCase>; reason: string; says?: string }> = {
    'while a pod has it': {
      pod: { report: report([word()]) },
      reason: 'NotConfirmed',
      says: 'the agent has not reported that the rule is removed',
    },
    'while the agent reports that it is at work': {
      pod: { report: report([word({ state: 'Pending', reason: 'Removing' })]) },
      reason: 'Removing',
    },
    'while other rules use it': {
      pod: { report: report([word({ state: 'Pending', reason: 'InUse', message: 'used by …' })]) },
      reason: 'InUse',
    },
    'while a report does not mention it': {
      pod: { report: report([]) },
      reason: 'NotConfirmed',
      says: 'the agent has not reported that the rule is removed',
    },
    'while only another rule of its name is reported as removed': {
      pod: { report: report([word({ uid: 'rule-0', state: 'Removed', reason: 'Removed' })]) },
      reason: 'NotConfirmed',
    },
    'while only another version of it is reported as removed': {
      pod: { report: report([word({ revision: 'r1', state: 'Removed', reason: 'Removed' })]) },
      reason: 'NotConfirmed',
      says: 'the agent has confirmed another version of the rule',
    },
    'while a pod has never reported': {
      pod: {},
      reason: 'AgentStarting',
      says: 'the agent has not reported yet',
    },
    'while a terminating pod has not confirmed': {
      pod: { pod: cnfPod('a', { terminating: true }), report: report([word()]) },
      reason: 'NotConfirmed',
    },
    'while the agent that runs now has not reported': {
      pod: {
        pod: cnfPod('a', { agent: { state: 'started', startedAt: startOfRun(1) } }),
        report: { ...removed, clock: clockOfRun(0) },
      },
      reason: 'AgentRestarted',
      says: 'the agent has restarted and has not reported since',
    },
    'while a pod is out of reach': {
      pod: {
        report: report([word()], {
          receivedAt: { monotonic: UPTIME - SILENT_AFTER - 1, wall: NOW - SILENT_AFTER - 1 },
        }),
      },
      reason: 'AgentSilent',
    },
    'while the agent cannot watch the kind': {
      pod: { report: report([], { unwatchedKinds: ['FirewallRule'] }) },
      reason: 'NotWatching',
      says: 'the agent cannot watch FirewallRule, so it does not know of the deletion',
    },
    'while a pod reports though its container never seems to have started': {
      pod: {
        pod: cnfPod('a', { agent: { state: 'never-started', scheduled: true } }),
        report: report([word()]),
      },
      reason: 'NotConfirmed',
    },
  };
  it.each(Object.entries(cases))('%s', (_name, { pod, reason, says }) => {
    const decision = decideFor([pod, { pod: cnfPod('z'), report: removed }]);
    expect(decision).toMatchObject({
      remove: false,
      candidates: 2,
      blockers: [{ pod: 'a', reason, ...(says !== undefined && { message: says }) }],
    });
  });

  it('waits for some seconds, while a kubelet may have started an agent without having reported it', () => {
    const starting = {
      pod: cnfPod('a', { agent: { state: 'never-started', scheduled: true } }),
    };
    const justDeleted = rule({ deletedAt: NOW - 4_000 });
    expect(decideFor([starting], justDeleted)).toMatchObject({
      remove: false,
      recheckInMs: STARTED_UNSEEN_MS - 4_000,
    });
    const unscheduled = {
      pod: cnfPod('a', { agent: { state: 'never-started', scheduled: false } }),
    };
    expect(decideFor([unscheduled], justDeleted)).toMatchObject({ remove: true });
  });

  it('however long ago, while a coordinator that has just begun to lead may not have received a report of its agent', () => {
    const agent = { state: 'never-started', scheduled: true } as const;
    const starting = { pod: cnfPod('a', { ready: false, agent }), reportMissing: true };
    expect(decideFor([starting])).toMatchObject({
      remove: false,
      blockers: [{ pod: 'a', reason: 'AgentStarting' }],
    });
    expect(decideFor([{ ...starting, reportMissing: false }])).toMatchObject({ remove: true });
  });
});

it('names the pods that block in the order of their names', () => {
  const { blockers } = decideFor(['c', 'a', 'b'].map((name) => ({ pod: cnfPod(name) })));
  expect(blockers.map(({ pod }) => pod)).toEqual(['a', 'b', 'c']);
});

describe('time alone may change the decision', () => {
  const starting = {
    pod: cnfPod('a', { agent: { state: 'never-started', scheduled: true } }),
    report: report([word()]),
  };
  const started = { pod: cnfPod('b'), report: report([word()]) };
  it.each<[string, Partial<PodCase>[], number, number | undefined]>([
    [
      'once kubelets must have reported the agents',
      [starting, started],
      4_000,
      STARTED_UNSEEN_MS - 4_000,
    ],
    ['not where all agents have started', [started], 4_000, undefined],
    ['not when that time is over', [starting], STARTED_UNSEEN_MS, undefined],
    ['not long after', [starting], 60_000, undefined],
  ])('%s', (_name, pods, deletedAgoMs, recheckInMs) => {
    const decision = decideFor(pods, rule({ deletedAt: NOW - deletedAgoMs }));
    expect(decision).toMatchObject({ remove: false, recheckInMs });
  });
});

it.each([[[]], [[{ report: removed }]]])(
  'never takes the finalizer of a rule that is not being deleted, and nothing blocks it',
  (pods) => {
    const none = { blockers: [], remarks: [], candidates: 0 };
    const nothing = { remove: false, ...none, recheckInMs: undefined };
    expect(decideFor(pods, rule())).toEqual(nothing);
  },
);

describe('whatever is known', () => {
  const check = (property: (pods: PodCase[]) => void): void =>
    fc.assert(fc.property(podFacts, property), { numRuns: caseCount(2_000) });
  const confirmed = ({ pod, report: said }: PodCase): boolean =>
    said?.rules.get(deleted.uid)?.state === 'Removed' &&
    said.rules.get(deleted.uid)?.revision === deleted.revision &&
    !isOfEarlierRun(said, pod.agent);
  const hasNeverStarted = ({ pod: { agent }, report: said, reportMissing }: PodCase): boolean =>
    agent.state === 'never-started' && !said && !(agent.scheduled && reportMissing);
  const harmless = (facts: PodCase): boolean =>
    facts.pod.finished || facts.pod.agent.state === 'missing' || hasNeverStarted(facts);

  it('lets the rule go exactly when every pod that may have it has confirmed by its current boot', () => {
    check((pods) => {
      const expected = pods.every((pod) => harmless(pod) || confirmed(pod));
      expect(decideFor(pods).remove).toBe(expected);
    });
  });

  it('names a blocker exactly when the rule stays', () => {
    check((pods) => {
      const { remove, blockers, candidates } = decideFor(pods);
      expect(blockers.length === 0).toBe(remove);
      expect(blockers.length).toBeLessThanOrEqual(candidates);
    });
  });

  it('never blocks by one confirmation more, and never unblocks by one pod more', () => {
    check((pods) => {
      const before = decideFor(pods);
      const moreReported = pods.map((pod, index) =>
        index === 0 ? { ...pod, report: { ...removed, clock: clockOfRun(9) } } : pod,
      );
      expect(!before.remove || decideFor(moreReported).remove).toBe(true);
      const morePods = [...pods, { pod: cnfPod('zz'), report: undefined, reportMissing: false }];
      expect(decideFor(morePods).remove).toBe(false);
    });
  });

  it('gives the same for any order of pods', () => {
    check((pods) => {
      expect(decideFor(pods.toReversed())).toEqual(decideFor(pods));
    });
  });
});
