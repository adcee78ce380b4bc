import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_REASON_LENGTH, sentenceOf } from '#shared/protocol/reasons.ts';
import {
  driftSchema,
  MAX_MESSAGE_LENGTH,
  ruleReportSchema,
  ruleStates,
} from '#shared/protocol/report.ts';
import { LOST_ELSEWHERE, ruleStatusSchema, type RuleStatus } from '#shared/protocol/status.ts';
import { largestOf } from '#shared/protocol/testing.ts';
import { caseCount } from '#shared/runtime/testing.ts';
import type { RuleWord } from './pod-report.ts';
import type { Rule } from '../sources/rule.ts';
import {
  NOW,
  SILENT_AFTER,
  UPTIME,
  clockOfRun,
  context,
  factsOf,
  podFacts,
  report,
  reportsOf,
  rule,
  startOfRun,
  cnfPod,
  word,
  type PodCase,
} from '../testing/facts.ts';
import { anyRule } from '../testing/rules.ts';
import { keysLeftOut } from '../sources/key-access.ts';
import { rollup } from './rollup.ts';

const a = cnfPod('a');
const b = cnfPod('b');
const applied = report([word()]);

const readyOf = (status: RuleStatus) =>
  status.conditions?.find((condition) => condition.type === 'Ready');

const roll = (
  pods: readonly Partial<PodCase>[],
  changes: Partial<Rule> = {},
  time: { now?: number; monotonic?: number } = {},
): RuleStatus => {
  const { pods: all, reports, missingReports } = factsOf(pods);
  return rollup(rule(changes), all, reports, context({ missingReports, ...time }));
};

/** In sync on a and b, as a former coordinator wrote it. */
const inSyncStatus = roll([{ report: applied }, { pod: b, report: applied }]);

describe('a rule that all live pods have', () => {
  it('is in sync, in the fields of the seed, of ICN and of Kubernetes', () => {
    expect(inSyncStatus).toStrictEqual({
      observedGeneration: 2,
      inSync: true,
      appliedVersion: '2',
      appliedTime: '2026-01-02T03:04:00Z',
      appliedGeneration: 2,
      state: 'In Sync',
      pods: { live: 2, applied: 2, summary: '2/2' },
      conditions: [
        {
          type: 'Ready',
          status: 'True',
          reason: 'InSync',
          message: 'on all pods (2)',
          observedGeneration: 2,
          lastTransitionTime: '2026-01-02T03:04:05Z',
        },
      ],
    });
  });

  it('is in sync by files where agents cannot look into the kernel, and a condition says on which', () => {
    const byFiles = report([word({ reason: 'AppliedInFiles', message: 'the login may not' })]);
    const status = roll([{ report: applied }, { pod: b, report: byFiles }]);
    expect(status.inSync).toBe(true);
    expect(status.conditions?.slice(1)).toMatchObject([
      {
        type: 'KernelRead',
        status: 'False',
        reason: 'AppliedInFiles',
        message: 'the login may not (1 of 2 pods: b)',
      },
    ]);
  });

  it('says which pods are paused, whether or not they have the rule', () => {
    const has = report([word({ reason: 'Paused' })]);
    const lacks = report([word({ state: 'Pending', reason: 'Paused', message: 'no table' })]);
    const paused = { type: 'Paused', status: 'True', reason: 'Paused' };
    const inSync = roll([{ report: applied }, { pod: b, report: has }]);
    expect(inSync.inSync).toBe(true);
    expect(inSync.conditions?.slice(1)).toMatchObject([
      { ...paused, message: `${sentenceOf('Paused')} (1 of 2 pods: b)` },
    ]);
    const notReady = { ...b, ready: false, notReady: 'container sdewan-agent is not ready' };
    const outOfSync = roll([{ report: applied }, { pod: notReady, report: lacks }]);
    expect(outOfSync).toMatchObject({
      inSync: false,
      outOfSync: [{ pod: 'b', reason: 'Paused', message: 'no table' }],
    });
    expect(outOfSync.conditions?.at(-1)).toMatchObject(paused);
  });

  it('is not in sync by files alone without saying so while its pod is paused', () => {
    const byFiles = report([word({ reason: 'Paused', message: 'the login may not' })]);
    const types = roll([{ report: byFiles }]).conditions?.map(({ type }) => type);
    expect(types).toEqual(['Ready', 'KernelRead', 'Paused']);
  });

  it('says how tunnels are that it brings up, in sync or not', () => {
    const [up, down] = ['', 'not up: net'].map((tunnelsDown) => report([word({ tunnelsDown })]));
    const tunnelOf = ({ inSync, conditions }: RuleStatus) => [
      inSync,
      ...(conditions ?? []).slice(1),
    ];
    expect(tunnelOf(roll([{ report: up }, { pod: b, report: up }]))).toMatchObject([
      true,
      { type: 'TunnelUp', status: 'True', reason: 'TunnelUp' },
    ]);
    const no = { type: 'TunnelUp', status: 'False', reason: 'TunnelDown' };
    const isDown = roll([{ report: up }, { pod: b, report: down }]);
    expect(tunnelOf(isDown)).toMatchObject([
      true,
      { ...no, message: 'not up: net (1 of 2 pods: b)' },
    ]);
    const notReady = { ...b, ready: false, notReady: 'container sdewan-agent is not ready' };
    expect(tunnelOf(roll([{ pod: notReady, report: down }]))).toMatchObject([false, no]);
    const missingReports = roll([{ reportMissing: true }], { status: isDown });
    expect(tunnelOf(missingReports)).toMatchObject([true, no]);
  });

  it('was applied when the last pod first reported so', () => {
    const later = report([word({ since: NOW - 2_000 })]);
    const status = roll([{ report: applied }, { pod: b, report: later }]);
    expect(status.appliedTime).toBe('2026-01-02T03:04:03Z');
  });

  it('keeps its times while heartbeats come and coordinators restart', () => {
    const heartbeat = report([word({ since: NOW + 90_000 })], {
      receivedAt: { monotonic: UPTIME + 90_000, wall: NOW + 90_000 },
    });
    const pods = [{ report: heartbeat }, { pod: b, report: heartbeat }];
    const time = { now: NOW + 91_000, monotonic: UPTIME + 91_000 };
    expect(roll(pods, { status: inSyncStatus }, time)).toEqual(inSyncStatus);
  });
});

describe('a live pod that', () => {
  type Problem = { pod: Partial<PodCase>; reason: string; says: string; stalled?: boolean };
  const problems: Record<string, Problem> = {
    'is not ready': {
      pod: {
        pod: cnfPod('b', { ready: false, notReady: 'container sdewan is not ready' }),
        report: applied,
      },
      reason: 'PodNotReady',
      says: 'the pod is not ready; kubectl describe pod says why (in force on 1 of 2 pods: b)',
    },
    'has no agent': {
      pod: { pod: cnfPod('b', { agent: { state: 'missing' } }) },
      reason: 'AgentMissing',
      says: 'the pod was created without the agent, so no rules are applied to it; re-create it (not in force on 1 of 2 pods: b)',
    },
    'has not reported': {
      pod: { pod: b },
      reason: 'AgentStarting',
      says: 'the agent has not reported yet (may be in force on 1 of 2 pods: b)',
    },
    'is silent': {
      pod: {
        pod: b,
        report: report([word()], {
          receivedAt: { monotonic: UPTIME - SILENT_AFTER - 1, wall: NOW - SILENT_AFTER - 1 },
        }),
      },
      reason: 'AgentSilent',
      says: 'the agent has not reported since 2026-01-02T03:03:04Z (in force when last read, unconfirmed on 1 of 2 pods: b)',
    },
    'does not reach its OpenWRT': {
      pod: {
        pod: b,
        report: report([word()], {
          openwrt: {
            reachable: false,
            driver: 'ubus',
            message: 'connection refused',
            driftRepairs: 0,
          },
        }),
      },
      reason: 'OpenwrtUnreachable',
      says: 'connection refused (in force when last read, unconfirmed on 1 of 2 pods: b)',
    },
    'does not reach its OpenWRT, and knows no reason': {
      pod: {
        pod: b,
        report: report([word()], {
          openwrt: { reachable: false, driver: 'ubus', message: '', driftRepairs: 0 },
        }),
      },
      reason: 'OpenwrtUnreachable',
      says: `${sentenceOf('OpenwrtUnreachable')} (in force when last read, unconfirmed on 1 of 2 pods: b)`,
    },
    'reported before one of its containers restarted': {
      pod: {
        pod: cnfPod('b', { othersStartedAt: NOW - 500 }),
        report: report([word()], {
          clock: { ...clockOfRun(0), verified: { since: NOW - 90_000, last: NOW - 900 } },
        }),
      },
      reason: 'OpenwrtUnread',
      says: 'a container of the pod has started since the agent last looked at OpenWRT (in force when last read, unconfirmed on 1 of 2 pods: b)',
    },
    'refused an earlier version': {
      pod: {
        pod: b,
        report: report([word({ state: 'Failed', generation: 1, revision: 'r1' })]),
      },
      reason: 'Outdated',
      says: 'the agent has reported of generation 1 only (not in force on 1 of 2 pods: b)',
    },
    'has an earlier generation': {
      pod: { pod: b, report: report([word({ generation: 1, revision: 'r1' })]) },
      reason: 'Outdated',
      says: 'the pod still has generation 1 (generation 1 in force on 1 of 2 pods: b)',
    },
    'has another CR of that name': {
      pod: { pod: b, report: report([word({ uid: 'rule-0' })]) },
      reason: 'Applying',
      says: 'the agent has not received the rule yet (not in force on 1 of 2 pods: b)',
    },
    'cannot watch the kind': {
      pod: {
        pod: b,
        report: report([word({ generation: 1, revision: 'r1' })], {
          unwatchedKinds: ['FirewallRule'],
        }),
      },
      reason: 'NotWatching',
      says: 'the agent cannot watch FirewallRule and keeps the rules that it knows (generation 1 in force on 1 of 2 pods: b)',
    },
    'is configured to leave out the kind': {
      pod: {
        pod: cnfPod('b', { withoutKinds: ['FirewallRule'] }),
        report: report([], { unwatchedKinds: ['FirewallRule'] }),
      },
      reason: 'NotWatching',
      says: `${keysLeftOut('FirewallRule')} (not in force on 1 of 2 pods: b)`,
    },
    'waits for something': {
      pod: {
        pod: b,
        report: report([
          word({
            state: 'Pending',
            reason: 'WaitingForReference',
            message: 'no zone lan1',
            generationInForce: 1,
          }),
        ]),
      },
      reason: 'WaitingForReference',
      says: 'no zone lan1 (generation 1 in force on 1 of 2 pods: b)',
    },
    'is putting it right, and says nothing of it': {
      pod: { pod: b, report: report([word({ state: 'Pending', reason: 'Applying' })]) },
      reason: 'Applying',
      says: `${sentenceOf('Applying')} (not in force on 1 of 2 pods: b)`,
    },
    'is not ready, and reported before its agent restarted': {
      pod: {
        pod: cnfPod('b', {
          ready: false,
          notReady: 'not ready',
          agent: { state: 'started', startedAt: startOfRun(1) },
        }),
        report: applied,
      },
      reason: 'PodNotReady',
      says: 'the pod is not ready; kubectl describe pod says why (in force when last read, unconfirmed on 1 of 2 pods: b)',
    },
    'refuses the rule': {
      pod: {
        pod: cnfPod('b', { ready: false, notReady: 'not ready' }),
        report: report([word({ state: 'Failed', reason: 'NameTaken', message: 'name is taken' })]),
      },
      reason: 'NameTaken',
      says: 'name is taken (not in force on 1 of 2 pods: b)',
      stalled: true,
    },
  };

  it.each(Object.entries(problems))(
    '%s takes the rule out of sync and is named',
    (_name, problem) => {
      const status = roll([{ report: applied }, problem.pod], { status: inSyncStatus });
      expect(status).toMatchObject({
        inSync: false,
        state: 'Trying to apply',
        pods: { summary: '1/2' },
      });
      expect(status).not.toHaveProperty('appliedVersion');
      expect(status).not.toHaveProperty('appliedTime');
      expect(status).not.toHaveProperty('appliedGeneration');
      expect(status.message).toBe(problem.says);
      expect(status.outOfSync).toMatchObject([{ pod: 'b', reason: problem.reason }]);
      expect(readyOf(status)).toMatchObject({ status: 'False', reason: problem.reason });
      const isStalled = status.conditions?.some(({ type }) => type === 'Stalled');
      expect(isStalled).toBe(problem.stalled === true);
    },
  );

  it('has another generation in force is listed with it', () => {
    const busy = { state: 'Pending', reason: 'Applying', message: 'busy' } as const;
    const listed = (words: Partial<RuleWord>) =>
      roll([{ report: report([word({ ...busy, ...words })]) }]).outOfSync;
    const { reason, message } = busy;
    const inForce = { inForce: 'EarlierInForce', generationInForce: 1 };
    expect(listed({ generationInForce: 1 })).toStrictEqual([
      { pod: 'a', reason, message, ...inForce },
    ]);
    expect(listed({})).toStrictEqual([{ pod: 'a', reason, message, inForce: 'NotInForce' }]);
  });

  it('gives the reason by a problem that an operator can fix', () => {
    const unready = { pod: cnfPod('a', { ready: false, notReady: 'starts' }), report: applied };
    const noZone = word({ state: 'Pending', reason: 'WaitingForReference', message: 'no zone' });
    const status = roll([unready, { pod: b, report: report([noZone]) }]);
    expect(readyOf(status)).toMatchObject({ reason: 'WaitingForReference' });
  });

  it('has refused an earlier generation is only behind', () => {
    const word1 = word({ state: 'Failed', generation: 1, revision: 'r1', reason: 'InvalidSpec' });
    const status = roll([{ report: report([word1]) }]);
    expect(status.conditions).toMatchObject([{ type: 'Ready', reason: 'Outdated' }]);
    expect(status.conditions).toHaveLength(1);
  });

  it('comes first when an operator must fix it, before one that only has to start', () => {
    const failed = report([word({ state: 'Failed', reason: 'NameTaken', message: 'taken' })]);
    const status = roll([{}, { pod: b, report: failed }]);
    expect(readyOf(status)).toMatchObject({ reason: 'NameTaken' });
  });

  it('has another problem than before keeps its time', () => {
    const before = roll([{}]);
    const status = roll([{ report: report([]) }], { status: before }, { now: NOW + 60_000 });
    expect(readyOf(status)?.message).not.toBe(readyOf(before)?.message);
    expect(readyOf(status)?.lastTransitionTime).toBe(readyOf(before)?.lastTransitionTime);
  });

  it('has the generation but not the new order keeps appliedVersion, and is out of sync', () => {
    const reordered = roll([{ report: applied }], { revision: 'r3' });
    expect(reordered).toMatchObject({ inSync: false, appliedVersion: '2' });
    expect(reordered.message).toContain('earlier order');
  });

  it('only tries to have the generation does not count as applied, whatever its order', () => {
    const trying = report([word({ state: 'Pending', reason: 'Applying' })]);
    expect(roll([{ report: trying }], { revision: 'r3' })).not.toHaveProperty('appliedVersion');
  });
});

describe('pods that do not count', () => {
  it.each([
    ['terminating', { terminating: true }],
    ['finished', { finished: true, ready: false }],
  ])('include a %s one', (_name, changes) => {
    const gone = { pod: cnfPod('b', changes), report: undefined };
    expect(roll([{ report: applied }, gone])).toMatchObject({ inSync: true, pods: { live: 1 } });
  });

  it('include one without an owner, beside those of the CNF', () => {
    const bare = cnfPod('bare', { owned: false, agent: { state: 'missing' } });
    expect(roll([{ report: applied }, { pod: bare }])).toMatchObject({
      inSync: true,
      pods: { summary: '1/1' },
    });
    expect(roll([{ pod: bare }])).toMatchObject({ inSync: false });
  });
});

describe('a rule without a CNF', () => {
  it('waits for its CNF', () => {
    const status = roll([]);
    expect(status).toMatchObject({ inSync: false, pods: { summary: '0/0' } });
    expect(readyOf(status)).toMatchObject({ status: 'False', reason: 'WaitingForCnf' });
    expect(status.message).toBe(
      'no pod in namespace edge has the label sdewanPurpose=cnf-1: not in force',
    );
  });

  it('has the lack of a label as its reason', () => {
    const status = roll([], { purpose: undefined });
    expect(status).toMatchObject({ inSync: false, state: 'Unknown status' });
    expect(status.message).toContain('has no label sdewanPurpose');
    expect(readyOf(status)).toMatchObject({ status: 'False', reason: 'NoPurpose' });
  });
});

it('says Stalled while an agent asks for a change, and no longer', () => {
  const refused = report([
    word({ state: 'Failed', reason: 'InvalidSpec', message: 'spec.src: …' }),
  ]);
  const stalled = roll([{ report: refused }]);
  expect(stalled.conditions?.map(({ type, status }) => [type, status])).toEqual([
    ['Ready', 'False'],
    ['Stalled', 'True'],
  ]);
  expect(roll([{}]).conditions?.map(({ type }) => type)).toEqual(['Ready']);
  const mended = roll([{ report: applied }], { status: stalled });
  expect(mended.conditions?.map(({ type }) => type)).toEqual(['Ready']);
});

it('names ten pods, groups those with the same problem, and counts all', () => {
  const pods = Array.from({ length: 25 }, (_, index) => ({
    pod: cnfPod(`p${String(index).padStart(2, '0')}`),
    report: index === 3 ? report([]) : undefined,
  }));
  const status = roll(pods);
  expect(status.outOfSync).toHaveLength(10);
  expect(status.pods?.summary).toBe('0/25');
  expect(status.message).toBe(
    'the agent has not reported yet (may be in force on 24 of 25 pods: p00, p01, p02, p04, p05 and 19 more); the agent has not received the rule yet (not in force on 1 of 25 pods: p03)',
  );
});

describe('after a start of the coordinator', () => {
  const awaiting = [{ reportMissing: true }, { pod: b, reportMissing: true }];

  it('keeps a rule in sync while a pod has time left to report', () => {
    expect(roll(awaiting, { status: inSyncStatus })).toEqual(inSyncStatus);
    const half = roll([{ report: applied }, { pod: b, report: report([]) }]);
    expect(roll(awaiting, { status: half })).toEqual(half);
    expect(roll([{ report: applied }, { pod: b, reportMissing: true }], { status: half })).toEqual(
      half,
    );
  });

  it('takes a report of a time before that for none', () => {
    const longAgo = { monotonic: UPTIME - SILENT_AFTER - 1, wall: NOW - SILENT_AFTER - 1 };
    const old = report([], { receivedAt: longAgo });
    const pods = [{ report: applied }, { pod: b, report: old, reportMissing: true }];
    expect(roll(pods, { status: inSyncStatus })).toEqual(inSyncStatus);
    expect(roll(pods, { status: undefined })).toMatchObject({ inSync: false });
    const reporting = [{ report: applied }, { pod: b, report: report([]), reportMissing: true }];
    expect(roll(reporting, { status: inSyncStatus }).inSync).toBe(false);
  });

  it('waits for a pod that may still have a deleted rule, and does not for other rules', () => {
    const going = { pod: cnfPod('b', { terminating: true }), reportMissing: true };
    const finished = { ...going, pod: cnfPod('b', { finished: true }) };
    const deletedAt = NOW - 30_000;
    const removing = roll([{ report: report([]) }, { ...going, report: applied }], { deletedAt });
    expect(roll([going], { deletedAt, status: removing })).toEqual(removing);
    expect(roll([finished], { deletedAt, status: removing })).not.toEqual(removing);
    const half = roll([{ report: applied }, { pod: b, report: report([]) }]);
    expect(roll([{ report: applied }, going], { status: half }).inSync).toBe(true);
  });

  it('names a pod without agent at once', () => {
    const missing = { pod: cnfPod('b', { agent: { state: 'missing' } }), reportMissing: true };
    const status = roll([{ report: applied }, missing], { status: inSyncStatus });
    expect(status.outOfSync).toMatchObject([{ pod: 'b', reason: 'AgentMissing' }]);
  });

  it('writes a status without pods or conditions again', () => {
    const status = { observedGeneration: 2, inSync: false };
    expect(roll(awaiting, { status })).toMatchObject({ pods: { summary: '0/2' } });
  });

  it('reports a known problem at once', () => {
    const unready = {
      pod: cnfPod('b', { ready: false, notReady: 'gone bad' }),
      reportMissing: true,
    };
    const status = roll([{ reportMissing: true }, unready], { status: inSyncStatus });
    expect(status).toMatchObject({ inSync: false, pods: { summary: '1/2' } });
    expect(status).not.toHaveProperty('appliedVersion');
  });

  it('does not take a new generation for applied', () => {
    expect(roll(awaiting, { status: inSyncStatus, generation: 3, revision: 'r3' })).toMatchObject({
      inSync: false,
      observedGeneration: 3,
    });
  });

  it('ends the wait', () => {
    expect(roll([{}, { pod: b }], { status: inSyncStatus }).inSync).toBe(false);
  });
});

describe('a rule being deleted', () => {
  const deleted = { deletedAt: NOW - 30_000 };
  const gone = report([word({ state: 'Removed', reason: 'Removed' })]);

  it('shows which pods may still have it', () => {
    const status = roll([{ report: gone }, { pod: b, report: applied }], deleted);
    expect(status).toMatchObject({
      inSync: false,
      state: 'Being delete',
      pods: { live: 2, applied: 1, summary: '1/2' },
      outOfSync: [{ pod: 'b', reason: 'NotConfirmed' }],
      message:
        'being deleted: the agent has not reported that the rule is removed (in force on 1 of 2 pods: b)',
    });
    expect(status.conditions?.map(({ type, status }) => [type, status])).toEqual([
      ['Ready', 'False'],
      ['Removed', 'False'],
    ]);
  });

  it('shows what an operator can fix before what passes without action', () => {
    const used = report([word({ state: 'Pending', reason: 'InUse', message: 'used by …' })]);
    const status = roll([{ report: applied }, { pod: b, report: used }], deleted);
    expect(status.conditions?.map(({ reason }) => reason)).toEqual(['Removing', 'InUse']);
  });

  it('shows that no pod has it any more', () => {
    const status = roll([{ report: gone }], deleted);
    expect(status).toMatchObject({ message: 'being deleted: no pod has the rule any more' });
    expect(status).not.toHaveProperty('outOfSync');
    expect(status.conditions?.map(({ reason }) => reason)).toEqual(['Removing', 'Removing']);
  });
});

describe('whatever is known', () => {
  const cases = fc.tuple(anyRule, podFacts);
  const check = (property: (subject: Rule, pods: PodCase[]) => void): void =>
    fc.assert(
      fc.property(cases, ([subject, pods]) => property(subject, pods)),
      { numRuns: caseCount(2_000) },
    );
  const rollFacts = (subject: Rule, pods: readonly PodCase[]): RuleStatus => roll(pods, subject);
  const live = (pods: readonly PodCase[]): PodCase[] =>
    pods.filter(({ pod }) => !pod.finished && !pod.terminating);
  const isFresh = (said: PodCase['report']): boolean =>
    said !== undefined && UPTIME - said.receivedAt.monotonic <= SILENT_AFTER;

  it('gives a status that the CRD accepts', () => {
    check((subject, pods) => {
      expect(ruleStatusSchema.parse(rollFacts(subject, pods))).toEqual(rollFacts(subject, pods));
    });
  });

  it('says in no empty message whether each pod has the rule in force, the cause first', () => {
    check((subject, pods) => {
      const { message, inSync, outOfSync = [], conditions = [] } = rollFacts(subject, pods);
      const messages = [...outOfSync, ...conditions].map((each) => each.message);
      const all = message === undefined ? messages : [...messages, message];
      expect(all.filter((text) => text === '' || /[:\s]$/.test(text))).toEqual([]);
      expect(inSync || message !== undefined).toBe(true);
      if (subject.status !== undefined) return;
      expect(outOfSync.filter(({ inForce }) => inForce === undefined)).toEqual([]);
      expect(inSync || message).toSatisfy(
        (said) => said === true || /in force|no pod has the rule any more/.test(String(said)),
      );
    });
  });

  it('takes no rule for in sync, nor applied, with a live pod that is not ready', () => {
    check((subject, pods) => {
      fc.pre(live(pods).some(({ pod }) => !pod.ready));
      fc.pre(!pods.some(({ reportMissing, report: said }) => reportMissing && !isFresh(said)));
      const status = rollFacts(subject, pods);
      expect(status.inSync).toBe(false);
      expect(status).not.toHaveProperty('appliedVersion');
      expect(status).not.toHaveProperty('appliedTime');
    });
  });

  it('takes a rule for in sync when each live pod freshly reports this revision and generation, or its report is missing and it was in sync', () => {
    check((subject, pods) => {
      const all = live(pods);
      const stays = ({ report: said, reportMissing }: PodCase): boolean =>
        reportMissing &&
        !isFresh(said) &&
        subject.status?.inSync === true &&
        subject.status.observedGeneration === subject.generation;
      const has = ({ report: said }: PodCase): boolean => {
        const { state, revision, generation } = said?.rules.get(subject.uid) ?? {};
        return (
          isFresh(said) &&
          said?.openwrt.reachable === true &&
          state === 'Applied' &&
          revision === subject.revision &&
          generation === subject.generation
        );
      };
      const proven = all.every(
        (facts) =>
          facts.pod.ready && facts.pod.agent.state !== 'missing' && (stays(facts) || has(facts)),
      );
      const expected =
        proven &&
        all.length > 0 &&
        subject.purpose !== undefined &&
        subject.deletedAt === undefined;
      expect(rollFacts(subject, pods).inSync).toBe(expected);
    });
  });

  it('changes nothing in a second roll-up on its own status', () => {
    check((subject, pods) => {
      const once = rollFacts(subject, pods);
      expect(rollFacts({ ...subject, status: once }, pods)).toEqual(once);
    });
  });

  it('gives the same for any order of pods and reports', () => {
    check((subject, pods) => {
      expect(rollFacts(subject, pods.toReversed())).toEqual(rollFacts(subject, pods));
    });
  });

  it('changes no time by a heartbeat', () => {
    check((subject, pods) => {
      const status = rollFacts(subject, pods);
      const later = pods.map((pod) => ({
        ...pod,
        report: pod.report && {
          ...pod.report,
          receivedAt: {
            monotonic: pod.report.receivedAt.monotonic + 7_000,
            wall: pod.report.receivedAt.wall,
          },
        },
      }));
      const time = { now: NOW + 7_000, monotonic: UPTIME + 7_000 };
      const again = roll(later, { ...subject, status }, time);
      fc.pre(subject.deletedAt === undefined);
      expect(again).toEqual(status);
    });
  });
});

it('reports of pods that are not there change nothing', () => {
  const stray = reportsOf([
    [a, applied],
    [b, report([word({ state: 'Failed' })])],
  ]);
  expect(rollup(rule(), [a], stray, context()).inSync).toBe(true);
});

describe('the largest that an agent may say', () => {
  const text = 'Ā'.repeat(MAX_MESSAGE_LENGTH);
  const { uid, revision } = rule();
  const words = ruleStates.map((state) =>
    word({ ...largestOf(ruleReportSchema), uid, revision, state }),
  );

  it.each(words)('fits into a status that the API server takes, $state', (said) => {
    expect(ruleReportSchema.safeParse(said).error).toBeUndefined();
    const all = report([{ ...said, generation: rule().generation }], {
      doubt: text,
      openwrt: { reachable: said.state !== 'Pending', driver: '', message: text, driftRepairs: 0 },
      drifts: [{ ...largestOf(driftSchema), uid, at: NOW }],
    });
    for (const deletedAt of [undefined, NOW]) {
      const { error } = ruleStatusSchema.safeParse(roll([{ report: all }], { deletedAt }));
      expect(error).toBeUndefined();
    }
  });

  it('has each text in it', () => {
    const all = words.map((said) =>
      report([said], { drifts: [{ ...largestOf(driftSchema), uid, at: NOW }] }),
    );
    const status = JSON.stringify(all.map((one) => roll([{ report: one }])));
    for (const each of [text, 'A'.repeat(MAX_REASON_LENGTH), 'Ā'.repeat(128)])
      expect(status).toContain(each);
  });
});

describe('while an agent doubts that its OpenWRT has what it had', () => {
  const doubted = report([word()], { doubt: 'connection refused' });
  const statusOf = (before: RuleStatus | undefined, said = doubted): RuleStatus =>
    rollup(rule({ status: before }), [a], reportsOf([[a, said]]), context());
  const inSync = statusOf(undefined, applied);

  it('keeps what is in sync so, until the agent reports more', () => {
    expect(statusOf(inSync)).toEqual(inSync);
    const lost = word({ state: 'Pending', reason: 'OpenwrtUnread', message: 'it has restarted' });
    expect(statusOf(inSync, report([lost], { doubt: 'it has restarted' })).inSync).toBe(false);
  });

  it('takes nothing for in sync: not what never was, what was out of sync, or another generation', () => {
    expect(statusOf(undefined).inSync).toBe(false);
    const lowered = rollup(
      rule({ status: inSync }),
      [cnfPod('a', { ready: false, notReady: 'container sdewan is not ready' })],
      reportsOf([[a, applied]]),
      context(),
    );
    expect(statusOf(lowered).inSync).toBe(false);
    expect(statusOf({ ...inSync, observedGeneration: 1 }).inSync).toBe(false);
    expect(statusOf(lowered, applied).inSync).toBe(true);
  });
});

describe('a rule that has cut a pod off', () => {
  const lost = report([
    word({
      state: 'Failed',
      reason: 'LostConnectivity',
      message: 'the agent loses the API server',
    }),
  ]);
  const entry = {
    purpose: rule().purpose,
    revision: rule().revision,
    message: 'the agent loses the API server',
    pod: 'a',
    podUID: a.uid,
  };
  const heard = report([
    word({
      state: 'Failed',
      reason: 'LostConnectivity',
      message: `${LOST_ELSEWHERE}${entry.message}`,
    }),
  ]);
  const status = roll([{ report: lost }, { pod: b, report: applied }]);

  it('is Stalled, and its status has the CNF and the revision', () => {
    expect(readyOf(status)).toMatchObject({ status: 'False', reason: 'LostConnectivity' });
    expect(status.lostConnectivity).toEqual(entry);
  });

  it.each([
    ['while another pod has the rule', [{ report: lost }, { pod: b, report: applied }]],
    ['while it has not said anything', [{ report: undefined }, { pod: b, report: applied }]],
    ['without that pod, although another has the rule', [{ pod: b, report: applied }]],
    ['with another pod of its name', [{ pod: { ...a, uid: 'next' }, report: heard }]],
    ['while it is not certain that it has the rule', [{ report: { ...applied, doubt: 'gone' } }]],
    ['without any pod', []],
    ['without a report', [{ report: undefined }]],
    ['when a pod says it in other words', [{ report: lost }]],
  ])('keeps that %s', (_what, pods) => {
    expect(roll(pods, { status }).lostConnectivity).toEqual(entry);
  });

  it.each([
    ['asks for something else', { revision: 'another', generation: 3 }],
    ['is for another CNF', { purpose: 'cnf-2' }],
  ])('does not when it %s', (_what, changes) => {
    expect(roll([{ report: applied }], { status, ...changes })).not.toHaveProperty(
      'lostConnectivity',
    );
  });

  it.each([
    ['the pod that said so has the rule', [{ report: applied }, { pod: b, report: heard }]],
    ['that pod has only heard of it', [{ report: heard }, { pod: b, report: applied }]],
  ])('has no such entry any more when %s', (_what, pods) => {
    expect(roll(pods, { status })).not.toHaveProperty('lostConnectivity');
  });

  it('is not one by the word of a pod that does not count for it, or has only heard of it', () => {
    const foreign = cnfPod('c', { purpose: 'cnf-2', owned: false });
    expect(roll([{ pod: foreign, report: lost }])).not.toHaveProperty('lostConnectivity');
    expect(roll([{ report: heard }])).not.toHaveProperty('lostConnectivity');
  });

  it('has no such entry for a removal', () => {
    const removal = roll([{ report: lost }], { deletedAt: NOW });
    expect(removal).not.toHaveProperty('lostConnectivity');
  });

  it.each<Partial<RuleWord>>([
    { state: 'Failed', reason: 'NameTaken' },
    { state: 'Pending', reason: 'LostConnectivity' },
  ])('is not one of which a pod says %j', (says) => {
    expect(roll([{ report: report([word(says)]) }])).not.toHaveProperty('lostConnectivity');
  });
});
