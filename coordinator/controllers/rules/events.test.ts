import { beforeEach, describe, expect, it } from 'vitest';
import type { Drift } from '#shared/protocol/report.ts';
import type { RuleStatus } from '#shared/protocol/status.ts';
import { context, report, reportsOf, rule, cnfPod, word } from '../../testing/facts.ts';
import type { RuleWord } from '../../rule-status/pod-report.ts';
import { rollup } from '../../rule-status/rollup.ts';
import { Announcer, driftRepaired, Waiting, type Announcement } from './events.ts';

const pod = cnfPod('a');

const statusWith = (changes: Partial<RuleWord>, before?: RuleStatus): RuleStatus =>
  rollup(rule({ status: before }), [pod], reportsOf([[pod, report([word(changes)])]]), context());

const inSync = statusWith({});
const failed = statusWith({ state: 'Failed', reason: 'NameTaken', message: 'taken' });

let announcer: Announcer;
beforeEach(() => {
  announcer = new Announcer();
});
const announcements = (before: RuleStatus | undefined, now: RuleStatus): readonly Announcement[] =>
  announcer.announcements('rule-1', before, now);

it('announces that a generation is on all pods, once', () => {
  expect(announcements(undefined, inSync)).toEqual([
    { type: 'Normal', reason: 'InSync', message: 'generation 2 is on all pods (1)' },
  ]);
  expect(announcements(inSync, inSync)).toEqual([]);
});

it('records an Event for what an operator must fix, and again when the message changes', () => {
  expect(announcements(inSync, failed)).toEqual([
    { type: 'Warning', reason: 'NameTaken', message: 'taken (not in force on 1 of 1 pods: a)' },
  ]);
  expect(announcements(failed, failed)).toEqual([]);
  const otherwise = statusWith({ state: 'Failed', reason: 'NameTaken', message: 'still taken' });
  expect(announcements(failed, otherwise)).toHaveLength(1);
});

it('records an Event when the problem has ended', () => {
  expect(announcements(failed, inSync)).toMatchObject([{ type: 'Normal', reason: 'InSync' }]);
});

it('announces a missing label, once', () => {
  const status = rollup(rule({ purpose: undefined }), [], new Map(), context());
  expect(announcements(undefined, status)).toMatchObject([{ reason: 'NoPurpose' }]);
  expect(announcements(status, status)).toEqual([]);
});

it('records no Event for what passes by itself', () => {
  const pending = statusWith({ state: 'Pending', reason: 'Applying', message: 'on its way' });
  expect(announcements(undefined, pending)).toEqual([]);
  expect(announcements(inSync, pending)).toEqual([]);
});

it('records no Event for further pods with the same problem, nor when fewer have it', () => {
  const pods = ['a', 'b', 'c'].map((name) => cnfPod(name));
  const wrong = { state: 'Failed', reason: 'NameTaken', message: 'taken' } as const;
  const on = (count: number): RuleStatus => {
    const reports = pods.map(
      (each, index) => [each, report([word(index < count ? wrong : {})])] as const,
    );
    return rollup(rule(), pods, reportsOf(reports), context());
  };
  expect(announcements(on(1), on(2))).toEqual([]);
  expect(announcements(on(2), on(3))).toEqual([]);
  expect(announcements(on(3), on(1))).toEqual([]);
  expect(new Announcer().announcements('rule-1', on(0), on(3))).toHaveLength(1);
});

it('records no Event for a pod that comes back, until another generation is on all pods', () => {
  const away = rollup(
    rule({ status: inSync }),
    [cnfPod('a', { ready: false })],
    new Map(),
    context(),
  );
  expect(announcements(inSync, away)).toEqual([]);
  expect(away.appliedVersion).toBeUndefined();
  expect(announcements(away, inSync)).toEqual([]);
  const next = rollup(
    rule({ generation: 3, status: away }),
    [pod],
    reportsOf([[pod, report([word({ generation: 3 })])]]),
    context(),
  );
  expect(announcements(away, next)).toMatchObject([{ reason: 'InSync' }]);
});

it('records no Event again for a cause that goes and comes back before the rule was in sync', () => {
  const waits = statusWith({ state: 'Pending', reason: 'Applying', message: 'on its way' });
  expect(announcements(undefined, failed)).toHaveLength(1);
  expect(announcements(failed, waits)).toEqual([]);
  expect(announcements(waits, failed)).toEqual([]);
  expect(announcements(failed, inSync)).toHaveLength(1);
  expect(announcements(inSync, failed)).toHaveLength(1);
});

it('forgets the oldest of more than twenty causes', () => {
  const because = (cause: number): RuleStatus =>
    statusWith({ state: 'Failed', reason: 'NameTaken', message: `taken by ${cause}` });
  const between = statusWith({ state: 'Pending', reason: 'Applying', message: 'on its way' });
  for (let cause = 0; cause < 21; cause += 1)
    expect(announcements(between, because(cause))).toHaveLength(1);
  expect(announcements(between, because(1))).toEqual([]);
  expect(announcements(between, because(0))).toHaveLength(1);
});

it('records no Event for what another pod says meanwhile', () => {
  const pods = [cnfPod('a'), cnfPod('b')];
  const wrong = report([word({ state: 'Failed', reason: 'NameTaken', message: 'taken' })]);
  const whileOther = (says: Partial<RuleWord>): RuleStatus => {
    const reports = [wrong, report([word(says)])];
    const both = pods.map((each, index) => [each, reports[index]] as const);
    return rollup(rule(), pods, reportsOf(both), context());
  };
  const busy = { state: 'Pending', reason: 'WaitingForSecret' } as const;
  const first = whileOther({});
  expect(announcements(undefined, first)).toHaveLength(1);
  expect(announcements(first, whileOther({ ...busy, message: 'one' }))).toEqual([]);
  expect(announcements(whileOther({ ...busy, message: 'one' }), whileOther(busy))).toEqual([]);
});

it('announces a status without pods by its condition', () => {
  const condition = { type: 'Stalled', status: 'True', reason: 'ChildRefused', message: 'no' };
  const refused = {
    inSync: false,
    conditions: [
      { ...condition, status: 'True' as const, observedGeneration: 1, lastTransitionTime: '' },
    ],
  };
  expect(announcer.announcements('r', undefined, refused)).toMatchObject([{ message: 'no' }]);
  expect(announcer.announcements('r', refused, refused)).toEqual([]);
});

it('announces what was put back, each time', () => {
  const lastTime = (second: number) => `2026-01-02T03:04:0${second}.000Z`;
  const put = (second: number): RuleStatus => ({
    ...inSync,
    drift: { count: second, lastTime: lastTime(second), section: 'firewall.s' },
  });
  const event = {
    type: 'Warning',
    reason: 'DriftRepaired',
    message:
      'another user or program changed section firewall.s on OpenWRT; the agent has put it back',
  };
  expect(announcements(inSync, put(1))).toEqual([event]);
  expect(announcements(put(1), put(1))).toEqual([]);
  expect(announcements(put(1), put(2))).toEqual([event]);
});

describe('the Event of a rule that waits', () => {
  const statusWith = (changes: Partial<RuleWord>): RuleStatus =>
    rollup(rule(), [pod], reportsOf([[pod, report([word(changes)])]]), context());
  const waits = (reason: string, message = 'src: waits for FirewallZone lan9'): RuleStatus =>
    statusWith({ state: 'Pending', reason, message });

  it('tells once, after half a minute, what a rule waits for', () => {
    const waiting = new Waiting();
    const status = waits('WaitingForReference');
    expect(waiting.look('r', status, 1_000)).toEqual({ inMs: 30_000 });
    expect(waiting.look('r', status, 21_000)).toEqual({ inMs: 10_000 });
    expect([waiting.due(30_999), waiting.due(31_000)]).toEqual([[], ['r']]);
    expect(waiting.look('r', status, 31_000)).toEqual({
      event: {
        type: 'Warning',
        reason: 'WaitingForReference',
        message: 'src: waits for FirewallZone lan9 (not in force on 1 of 1 pods: a)',
        once: true,
      },
      inMs: undefined,
    });
    expect(waiting.due(99_000)).toEqual([]);
    expect(waiting.look('r', status, 99_000)).toEqual({ inMs: undefined });
  });

  it.each([
    'WaitingForInterface',
    'WaitingForDevice',
    'WaitingForSecret',
    'WaitingForPackage',
    'NotResolved',
  ])('%s is waited for', (reason) => {
    const waiting = new Waiting();
    waiting.look('r', waits(reason), 0);
    expect(waiting.look('r', waits(reason), 30_000).event?.reason).toBe(reason);
  });

  it('tells of a CNF that is not there', () => {
    const waiting = new Waiting();
    const status = rollup(rule(), [], new Map(), context());
    waiting.look('r', status, 0);
    expect(waiting.look('r', status, 30_000).event?.reason).toBe('WaitingForCnf');
  });

  it('begins anew with another reason, and after the rule was in force', () => {
    const waiting = new Waiting();
    waiting.look('r', waits('WaitingForReference'), 0);
    expect(waiting.look('r', waits('WaitingForSecret'), 29_000)).toEqual({ inMs: 30_000 });
    expect(waiting.look('r', statusWith({}), 30_000)).toEqual({ inMs: undefined });
    expect(waiting.look('r', waits('WaitingForSecret'), 60_000)).toEqual({ inMs: 30_000 });
  });

  it.each(['Applying', 'PodNotReady', 'InvalidSpec'])('%s is not waited for', (reason) => {
    expect(new Waiting().look('r', waits(reason), 0)).toEqual({ inMs: undefined });
  });
});

describe('the Event of drift on a pod', () => {
  const drift = (section: string, changes: Partial<Drift> = {}): Drift => ({
    package: 'firewall',
    section,
    at: 1,
    ...changes,
  });
  const messagesOf = (...drifts: Drift[]): string[] =>
    driftRepaired(cnfPod('cnf-1-a'), drifts).map(({ message }) => message);

  it('is one Event for the sections of a package, in the same words when it happens again', () => {
    const message =
      'another user or program changed package firewall on OpenWRT (a, b); the agent has put it back';
    expect(messagesOf(drift('b'), drift('a'), drift('b', { at: 2 }))).toEqual([message]);
    expect(messagesOf(drift('b'), drift('p', { package: 'mwan3' }))).toHaveLength(2);
  });

  it('says of a package that has come back empty what happened, and no section', () => {
    const lost = drift('*', { whole: true });
    const message =
      "OpenWRT has come back without the agent's sections of package firewall, as after a restart; the agent has written them again";
    expect(messagesOf(lost, { ...lost, at: 2 })).toEqual([message]);
    expect(messagesOf(lost, drift('a'))).toEqual([
      message,
      'another user or program changed package firewall on OpenWRT (a); the agent has put it back',
    ]);
  });
});
