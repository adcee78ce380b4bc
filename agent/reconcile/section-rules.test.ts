import { expect, it } from 'vitest';
import { namedSection, ruleOf } from '#shared/compile/testing.ts';
import type { Verdict } from '#shared/compile/types.ts';
import { createAuthors } from './section-rules.ts';

const verdictOf = (name: string, ...sections: string[]): Verdict => ({
  rule: ruleOf('FirewallRule', name, {}),
  revision: 'r1',
  verdict: 'wanted',
  generationInForce: 1,
  reason: 'Applied',
  message: '',
  sections: sections.map((section) => ({
    package: 'firewall',
    ...namedSection('rule', section),
  })),
});
const A = 'FirewallRule-a';
const B = 'FirewallRule-b';

it('takes the rule that a section was last made for as its author, until that rule has left and is removed', () => {
  const authors = createAuthors();
  expect(authors.of('firewall.one')).toBeUndefined();
  authors.note([verdictOf('a', 'one', 'two'), verdictOf('b', 'three')]);
  expect(['one', 'two', 'three', 'four'].map((name) => authors.of(`firewall.${name}`))).toEqual([
    A,
    A,
    B,
    undefined,
  ]);
  authors.note([verdictOf('a', 'two'), verdictOf('b', 'one')]);
  expect([authors.of('firewall.one'), authors.of('firewall.two')]).toEqual([B, A]);
  expect(authors.of('firewall.three')).toBe(B);
  authors.note([verdictOf('a')]);
  expect([authors.of('firewall.two'), authors.of('firewall.three')]).toEqual([A, B]);
  expect(authors.leaving().map(({ rule, verdict }) => [rule.metadata.uid, verdict])).toEqual([
    [B, 'unwanted'],
  ]);
  authors.settle(new Set([B]));
  authors.note([verdictOf('a')]);
  expect([authors.of('firewall.two'), authors.of('firewall.three')]).toEqual([A, undefined]);
  expect(authors.leaving()).toEqual([]);
});

it('only the rules of the last pass are reported as removed', () => {
  const authors = createAuthors();
  expect(authors.wasRemoved(A)).toBe(false);
  authors.settle(new Set([A]));
  expect([authors.wasRemoved(A), authors.wasRemoved(B)]).toEqual([true, false]);
  authors.settle(new Set([B]));
  expect([authors.wasRemoved(A), authors.wasRemoved(B)]).toEqual([false, true]);
});
