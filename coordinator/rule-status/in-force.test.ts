import { expect, it } from 'vitest';
import type { PodReport, RuleWord } from './pod-report.ts';
import {
  NOW,
  SILENT_AFTER,
  UPTIME,
  context,
  report,
  rule,
  cnfPod,
  word,
} from '../testing/facts.ts';
import { forceOf, wordsOfForce } from './in-force.ts';

const pending = { state: 'Pending', reason: 'Applying', message: 'busy' } as const;
const agoMs = (age: number) => ({ monotonic: UPTIME - age, wall: NOW - age });

type Case = {
  says: Partial<RuleWord>;
  ageMs?: number;
  more?: Partial<PodReport>;
  expected: string[];
};
const cases: Record<string, Case> = {
  'this generation': { says: {}, expected: ['InForce', 'in force'] },
  'the same under an earlier number': {
    says: { generation: 1 },
    expected: ['InForce', 'in force'],
  },
  'an earlier one that was applied': {
    says: { generation: 1, revision: 'r1' },
    expected: ['EarlierInForce', 'generation 1 in force'],
  },
  'an earlier one beside one that is not in force': {
    says: { ...pending, generationInForce: 1 },
    expected: ['EarlierInForce', 'generation 1 in force'],
  },
  'this generation, in another order': {
    says: { ...pending, generationInForce: 2 },
    expected: ['InForce', 'in force'],
  },
  nothing: { says: pending, expected: ['NotInForce', 'not in force'] },
  'nothing, as far as a silent agent knew': {
    says: pending,
    ageMs: SILENT_AFTER + 1,
    expected: ['Unconfirmed', 'may be in force'],
  },
  'what a silent agent had': {
    says: { ...pending, generationInForce: 1 },
    ageMs: SILENT_AFTER + 1,
    expected: ['Unconfirmed', 'generation 1 in force when last read, unconfirmed'],
  },
  'what its agent doubts': {
    says: {},
    more: { doubt: 'changed' },
    expected: ['Unconfirmed', 'in force when last read, unconfirmed'],
  },
  'what is left of a rule that is being removed': {
    says: { ...pending, reason: 'Removing' },
    expected: ['Unconfirmed', 'may be in force'],
  },
};
it.each(Object.entries(cases))(
  'tells what a pod has in force: %s',
  (_what, { says, ageMs = 0, more, expected }) => {
    const said = report([word(says)], { receivedAt: agoMs(ageMs), ...more });
    const force = forceOf(rule(), cnfPod('a'), said, context());
    expect([force.inForce, wordsOfForce(force, 2)]).toEqual(expected);
    expect(Object.values(force)).not.toContain(undefined);
  },
);

it('takes nothing for in force on a pod whose agent never ran, and does not know without a report', () => {
  const of = (agent: ReturnType<typeof cnfPod>['agent'], said?: PodReport) =>
    forceOf(rule(), cnfPod('a', { agent }), said, context()).inForce;
  expect(of({ state: 'missing' })).toBe('NotInForce');
  expect(of({ state: 'missing' }, report([word()]))).toBe('NotInForce');
  expect(of({ state: 'never-started', scheduled: true })).toBe('NotInForce');
  expect(of({ state: 'started', startedAt: undefined })).toBe('Unconfirmed');
});
