import { expect, it } from 'vitest';
import { describePods, isOfRule, rankOf, truncated } from './wording.ts';

it('orders reasons: what an agent refuses, then what an operator can fix, then what passes by itself', () => {
  const inOrder = [
    { reason: 'Applying', failed: true },
    { reason: 'AgentSilent' },
    { reason: 'PodNotReady' },
    { reason: 'AgentStarting' },
    { reason: 'AgentRestarted' },
    { reason: 'OpenwrtUnread' },
    { reason: 'Outdated' },
    { reason: 'NotConfirmed' },
    { reason: 'Removing' },
    { reason: 'Applying' },
  ];
  const byRank = inOrder.toReversed().sort((one, other) => rankOf(one) - rankOf(other));
  expect(byRank).toEqual(inOrder);
});

it.each([
  ['NameTaken', true],
  ['Applying', false],
  ['AgentMissing', false],
  ['AgentSilent', false],
  ['OpenwrtUnreachable', false],
  ['Paused', false],
])('%s is a problem of the rule itself: %s', (reason, is) => {
  expect(isOfRule(reason)).toBe(is);
});

it.each([
  ['a text that fits', 'four', 4, 'four'],
  ['one that does not', 'fiver', 4, 'fiv…'],
])('%s', (_name, text, max, expected) => {
  expect(truncated(text, max)).toBe(expected);
});

it('keeps a message about many pods within its bound', () => {
  const problems = Array.from({ length: 10 }, (_, at) => ({
    pod: `pod-${at}`,
    reason: 'Failed',
    message: `${at}`.repeat(1_024),
  }));
  expect(describePods(problems, 10)).toHaveLength(2_048);
});
