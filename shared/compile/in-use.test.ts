import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RuleObject } from '../kube/objects.ts';
import { compare, keptInUse, keyOf } from './in-use.ts';
import { DELETING, ruleOf } from './testing.ts';

/** `a>b c`: the rule a refers to b and c; with `-` in front it is being deleted. */
const rulesOf = (...lines: string[]) => {
  const references = new Map<string, string[]>();
  const rules = lines.map((line) => {
    const [head = '', names = ''] = line.split('>');
    const name = head.replace('-', '');
    references.set(name, names.split(' ').filter(Boolean));
    return ruleOf('Any', name, {}, head.startsWith('-') ? DELETING : {});
  });
  const refersTo = ({ metadata }: RuleObject) =>
    (references.get(metadata.name) ?? []).map((name) => ({ path: '', kind: 'Any', name }));
  return { rules, refersTo };
};

const keptOf = (...lines: string[]): string[] => {
  const { rules, refersTo } = rulesOf(...lines);
  return [...keptInUse(rules, refersTo)]
    .map(([uid, user]) => `${uid.replace('Any-', '')} by ${user.metadata.name}`)
    .sort();
};

describe('what stays of the rules that are being deleted', () => {
  it.each<[string, string[], string[]]>([
    ['none is kept without a user', ['-a', 'b'], []],
    ['one that another rule refers to is kept', ['-a', 'b>a'], ['a by b']],
    ['none is kept by one that is being deleted, too', ['-a', '-b>a'], []],
    [
      'what is kept keeps others, over any number of steps',
      ['-a', '-b>a', '-c>b', 'd>c'],
      ['a by b', 'b by c', 'c by d'],
    ],
    ['a ring keeps nothing', ['-a>b', '-b>a'], []],
    ['a rule that stays is not among them', ['a', 'b>a', '-c'], []],
    ['both of one name on OpenWRT are kept', ['-a-x', '-a.x', 'b>a-x'], ['a-x by b', 'a.x by b']],
  ])('%s', (_name, lines, expected) => {
    expect(keptOf(...lines)).toEqual(expected);
  });

  it('is kept by the user that is first by name, in any order of the input', () => {
    const { rules, refersTo } = rulesOf('-a', 'd>a', 'b>a', 'c>a');
    fc.assert(
      fc.property(fc.shuffledSubarray(rules, { minLength: rules.length }), (shuffled) => {
        expect(
          [...keptInUse(shuffled, refersTo).values()].map(({ metadata }) => metadata.name),
        ).toEqual(['b']);
      }),
    );
  });
});

it('texts are compared by code units, and names as OpenWRT has them', () => {
  expect(['b', 'a', 'B', 'é', 'b'].sort(compare)).toEqual(['B', 'a', 'b', 'b', 'é']);
  expect([compare('a', 'b'), compare('b', 'a'), compare('a', 'a')]).toEqual([-1, 1, 0]);
  expect(keyOf('FirewallZone', 'a-b.c')).toBe('FirewallZone/a_b_c');
});
