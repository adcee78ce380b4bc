import { expect, it } from 'vitest';
import { steady } from './blocks.ts';

it.each([
  ['cnf-1-7fbdd9fcd6-729vd  true   3m12s', 'cnf-1-6dbdd9fcd1-aaaaa true 1s'],
  ['since 2026-11-26 04:12:31.107 x', 'since 2025-01-01 00:00:00.000   x'],
  ['for 19s', 'for 2m'],
  ['serves: 7c9d6f5b4\n', 'serves: 6b8f7d9c5d\n'],
  [
    'cnfset/cnf-1-7c9d6f5b4 1 Proven\ncnfset/cnf-1-8b8f7d9c5 1\n',
    'cnfset/cnf-1-6b8f7d9c5d 1\ncnfset/cnf-1-7c9d6f5b4 1 Proven\n',
  ],
])('%s is the same as %s', (one, other) => {
  expect(steady(one)).toBe(steady(other));
});

it('another row is not the same', () => {
  expect(steady('cnf/cnf-1-7c9d6f5b4-k4zqd True\n')).not.toBe(
    steady('cnf/cnf-1-7c9d6f5b4-k4zqd False\n'),
  );
});

it('a changed word is not the same', () => {
  expect(steady('cnf-1 2/2 true InSync 1s')).not.toBe(steady('cnf-1 1/2 true InSync 1s'));
});
