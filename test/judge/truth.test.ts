import { expect, it } from 'vitest';
import { longestLie, type Seen } from './truth.ts';

const pod = (at: number, is: boolean | undefined): Seen => ({ at, what: 'pod', id: 'a', is });
const rule = (at: number, is: boolean | undefined, id = 'x'): Seen => ({
  at,
  what: 'rule',
  id,
  is,
});

it.each<[string, Seen[], number]>([
  ['never', [pod(1, true), rule(2, true)], 0],
  ['until the rule says so, too', [rule(1, true), pod(10, false), rule(14, false)], 4],
  [
    'until the last of the rules says so',
    [rule(1, true), rule(1, true, 'y'), pod(10, false), rule(14, false), rule(17, false, 'y')],
    7,
  ],
  ['until the pod is gone', [rule(1, true), pod(10, false), pod(13, undefined)], 3],
  ['to the end', [rule(1, true), pod(10, false)], 90],
  [
    'the longest of several',
    [rule(1, true), pod(10, false), pod(12, true), pod(20, false), pod(26, true)],
    6,
  ],
])('a rule says in sync beside a pod that is not Ready: %s', (_, seen, ms) => {
  expect(longestLie(seen, { from: 0, until: 100 })).toBe(ms);
});

it('what was before does not count', () => {
  const seen = [rule(1, true), pod(10, false), rule(14, false), rule(20, true), rule(23, false)];
  expect(longestLie(seen, { from: 12, until: 100 })).toBe(3);
  expect(longestLie(seen, { from: 15, until: 100 })).toBe(3);
  expect(longestLie(seen, { from: 50, until: 100 })).toBe(0);
});
