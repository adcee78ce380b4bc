import { beforeEach, expect, it } from 'vitest';
import type { Verdict } from '#shared/compile/types.ts';
import { createManualClock, type ManualClock } from '#shared/runtime/testing/manual-clock.ts';
import { NOTHING_KNOWN, type RuleStates } from '../reconcile/rule-states.ts';
import { createChangeLog, MAX_CHANGES, type ChangeLog } from './change-times.ts';

const rule = (name: string, generation = 1): Verdict['rule'] => ({
  apiVersion: 'batch.sdewan.akraino.org/v1alpha1',
  kind: 'FirewallRule',
  metadata: {
    name,
    namespace: 'default',
    uid: `uid-${name}`,
    resourceVersion: '7',
    generation,
    creationTimestamp: '2026-01-01T00:00:00Z',
  },
});

/** `there`: OpenWRT has what it is to have of them. */
const standing = (rules: readonly Verdict['rule'][], there: boolean): RuleStates => ({
  ...NOTHING_KNOWN,
  verdicts: rules.map((each) => ({
    rule: each,
    revision: 'r',
    generationInForce: each.metadata.generation,
    verdict: 'wanted',
    reason: 'Applying',
    message: '',
    sections: [{ package: 'firewall', name: each.metadata.name }],
  })),
  lagging: new Set(there ? [] : rules.map(({ metadata }) => `firewall.${metadata.name}`)),
});

let clock: ManualClock;
let log: ChangeLog;
let startedAt: number;
beforeEach(() => {
  clock = createManualClock();
  log = createChangeLog(clock);
  startedAt = clock.now();
});
const passes = (ms: number): void => clock.advance(ms);

/** A pass that takes 30 ms, of which 20 for OpenWRT. */
const pass = (...rules: readonly Verdict['rule'][]): void => {
  log.begun();
  passes(10);
  log.stands(standing(rules, false));
  passes(20);
  log.stands(standing(rules, true));
};
const settled = (): unknown[] =>
  log
    .settled()
    .map(({ uid, generation, seenAt, begunAt, compiledAt, appliedAt }) => [
      `${uid}/${generation}`,
      ...[seenAt, begunAt, compiledAt, appliedAt].map((at) => at - startedAt),
    ]);

it('has the times of a change from when it was seen until OpenWRT had it', () => {
  log.want();
  log.seen(rule('a'));
  passes(5);
  pass(rule('a'));
  expect(settled()).toEqual([['uid-a/1', 0, 5, 15, 35]]);
  log.reported(log.settled());
  expect(settled()).toEqual([]);
  pass(rule('a'));
  expect(settled()).toEqual([]);
});

it('counts a change that comes during a pass with the next one', () => {
  log.want();
  log.seen(rule('a'));
  log.begun();
  passes(10);
  log.seen(rule('a', 2));
  log.stands(standing([rule('a')], true));
  expect(settled()).toEqual([]);
  pass(rule('a', 2));
  expect(settled()).toEqual([['uid-a/2', 10, 10, 20, 40]]);
});

it('has nothing of a rule that OpenWRT does not have', () => {
  log.want();
  log.seen(rule('a'));
  log.begun();
  log.stands(standing([rule('a')], false));
  expect(settled()).toEqual([]);
});

it('keeps nothing that no coordinator wants, or none has wanted for a minute', () => {
  log.seen(rule('a'));
  pass(rule('a'));
  log.want();
  pass(rule('a'));
  expect(settled()).toEqual([]);
  passes(60_001);
  log.seen(rule('b'));
  pass(rule('b'));
  expect(settled()).toEqual([]);
});

it('keeps a limited number, the newest of those that are under way and the oldest of those to be reported', () => {
  log.want();
  const many = Array.from({ length: MAX_CHANGES + 5 }, (_, at) => rule(`r${at}`));
  for (const each of many) log.seen(each);
  pass(...many);
  const of = (): string[] => log.settled().map(({ uid }) => uid);
  expect([of().length, of()[0]]).toEqual([MAX_CHANGES, 'uid-r5']);
  log.seen(rule('late'));
  pass(rule('late'));
  expect(of()).not.toContain('uid-late');
});
