import { describe, expect, it } from 'vitest';
import type { RuleStatus } from '#shared/protocol/status.ts';
import { context, report, reportsOf, rule, cnfPod, word } from '../../testing/facts.ts';
import type { RuleWord } from '../../rule-status/pod-report.ts';
import { rollup } from '../../rule-status/rollup.ts';
import { isProgress, Progress } from './progress.ts';

const ten = Array.from({ length: 10 }, (_, index) => cnfPod(`pod-${index}`));
const applying = { state: 'Pending', reason: 'Applying', message: 'on its way' } as const;
const wrong = { state: 'Failed', reason: 'NameTaken', message: 'taken' } as const;

/** The first pods say `words` of the rule, all others that they are applying it. */
const statusOf = (
  words: readonly Partial<RuleWord>[],
  changes: Parameters<typeof rule>[0] = {},
): RuleStatus => {
  const reports = reportsOf(
    ten.map((pod, index) => [
      pod,
      report([word({ generation: changes.generation ?? 2, ...(words[index] ?? applying) })]),
    ]),
  );
  return rollup(rule(changes), ten, reports, context());
};
const applied = (count: number): Partial<RuleWord>[] => Array.from({ length: count }, () => ({}));

const none = statusOf([]);
const some = statusOf(applied(4));
const all = statusOf(applied(10));
const failed = statusOf([wrong]);
const next = { generation: 3 };
const noPods = rollup(rule(), [], new Map(), context());

type Change = [string, RuleStatus | undefined, RuleStatus];

describe('a status is written at once', () => {
  it.each<Change>([
    ['when all pods have the rule', some, all],
    ['when all pods have it in the first status', undefined, all],
    ['when all pods have the next generation', all, statusOf(applied(10), next)],
    ['when one pod does not have it any more', all, statusOf(applied(9))],
    ['when an operator has to change something', none, failed],
    ['when the next generation does not help', failed, statusOf([wrong], next)],
    ['when something else has to change', failed, statusOf([{ ...wrong, reason: 'InvalidSpec' }])],
    ['when there is no pod', undefined, noPods],
  ])('%s', (_, before, now) => {
    expect(isProgress(before, now)).toBe(false);
  });
});

describe('a status can wait', () => {
  it.each<Change>([
    ['while no pod has the rule yet', undefined, none],
    ['while one pod after the other gets it', none, some],
    ['while no pod has the next generation yet', all, statusOf([], next)],
    ['when further pods have the same problem', failed, statusOf([wrong, wrong])],
    ['when the problem has ended and pods are applying the rule', failed, some],
    ['while a deletion is on its way', all, statusOf([], { ...next, deletedAt: 1 })],
  ])('%s', (_, before, now) => {
    expect(isProgress(before, now)).toBe(true);
  });
});

it('progress waits two seconds from the first change that was not written', () => {
  const progress = new Progress();
  expect(progress.waitMs('rule-1', { before: undefined, now: none }, 10_000)).toBe(2_000);
  expect(progress.waitMs('rule-1', { before: undefined, now: some }, 11_500)).toBe(500);
  expect(progress.waitMs('rule-2', { before: undefined, now: some }, 11_500)).toBe(2_000);
  expect(progress.waitMs('rule-1', { before: undefined, now: all }, 11_600)).toBe(0);
  expect(progress.waitMs('rule-1', { before: undefined, now: some }, 12_100)).toBe(0);
  progress.settle('rule-1');
  expect(progress.waitMs('rule-1', { before: some, now: some }, 12_200)).toBe(2_000);
});
