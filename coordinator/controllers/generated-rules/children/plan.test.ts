import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DELETING, ruleOf } from '#shared/compile/testing.ts';
import type { Child } from '#shared/resources/generation.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { planChildren, type Plan } from './plan.ts';

const nat = (dest_ip: string, numbered = true): Child => ({
  kind: 'CNFNAT',
  suffix: 'nat',
  numbered,
  spec: { dest_ip },
});
const present = (name: string, dest_ip: string, metadata = {}): RuleObject =>
  ruleOf('CNFNAT', name, { dest_ip }, metadata);

/** `+`: created, `~`: becomes another, `-`: removed, `?`: waits. What stays has no line. */
const lines = ({ keep, remove, waiting }: Plan): string[] => [
  ...keep.flatMap(({ present: there, wanted: { name, spec } }) =>
    JSON.stringify(there?.spec) === JSON.stringify(spec)
      ? []
      : [`${there ? '~' : '+'} ${name} ${spec['dest_ip']}`],
  ),
  ...remove.map(({ metadata }) => `- ${metadata.name}`),
  ...waiting.map(({ metadata }) => `? ${metadata.name}`),
];

describe('the plan for the children of a CR', () => {
  it.each<[string, Child[], RuleObject[], string[]]>([
    ['numbers new ones from 0', [nat('a'), nat('b')], [], ['+ snat0 a', '+ snat1 b']],
    [
      'leaves alone what is right, whatever its number',
      [nat('a'), nat('b')],
      [present('snat0', 'b'), present('snat1', 'a')],
      [],
    ],
    [
      'reuses one that is not needed any more for another',
      [nat('a'), nat('c')],
      [present('snat0', 'a'), present('snat1', 'b')],
      ['~ snat1 c'],
    ],
    [
      'removes those that are too many',
      [nat('b')],
      [present('snat0', 'a'), present('snat1', 'b')],
      ['- snat0'],
    ],
    [
      'never treats a rule of another kind as its own',
      [nat('a')],
      [{ ...present('snat0', 'a'), kind: 'FirewallSNAT' }],
      ['+ snat0 a', '- snat0'],
    ],
    [
      'fills gaps',
      [nat('a'), nat('b'), nat('c')],
      [present('snat1', 'b')],
      ['+ snat0 a', '+ snat2 c'],
    ],
    [
      'does not use a name until the rule that had it is gone',
      [nat('a')],
      [present('snat0', 'a', DELETING)],
      ['+ snat1 a'],
    ],
    [
      'removes those that no part of the CR asks for',
      [nat('a')],
      [present('snat0', 'a'), present('snat-other', 'a'), ruleOf('CNFRoute', 'sroute0', {})],
      ['- snat-other', '- sroute0'],
    ],
    ['gives an only child no number', [nat('a', false)], [], ['+ snat a']],
    ['changes an only child', [nat('a', false)], [present('snat', 'b')], ['~ snat a']],
  ])('%s', (_what, children, there, expected) => {
    expect(lines(planChildren('s', children, there))).toEqual(expected);
  });

  it.each<[string, 4 | 6, Child[], RuleObject[], string[]]>([
    [
      'of a family of which nothing is known waits, and becomes no other',
      6,
      [nat('192.0.2.2'), nat('192.0.2.3')],
      [present('snat0', '2001:db8::1'), present('snat1', '192.0.2.1')],
      ['~ snat1 192.0.2.2', '+ snat2 192.0.2.3', '? snat0'],
    ],
    [
      'of the other family goes when it is not wanted',
      6,
      [nat('192.0.2.2')],
      [present('snat0', '192.0.2.1'), present('snat1', '192.0.2.2')],
      ['- snat0'],
    ],
    [
      'that is a network counts, too',
      4,
      [nat('2001:db8::1')],
      [present('snat0', '192.0.2.0/24'), present('snat1', '2001:db8::1')],
      ['? snat0'],
    ],
    ['that is wanted does not wait', 4, [nat('192.0.2.1')], [present('snat0', '192.0.2.1')], []],
  ])('treats what is there when it %s', (_what, unknown, children, there, expected) => {
    expect(lines(planChildren('s', children, there, new Set([unknown])))).toEqual(expected);
  });

  it('leads to what needs no further change, in whatever order the answers come', () => {
    const some = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'), { maxLength: 8 });
    const apply = (there: RuleObject[], wanted: string[]): RuleObject[] =>
      planChildren(
        's',
        wanted.map((one) => nat(one)),
        there,
      ).keep.map(({ wanted: one }) => present(one.name, one.spec['dest_ip'] ?? ''));
    fc.assert(
      fc.property(some, some, fc.integer(), (before, after, seed) => {
        const there = apply(apply([], before), after);
        const shuffled = after.toSorted((a, b) => ((a.charCodeAt(0) * seed) % 7) - b.charCodeAt(0));
        expect(
          lines(
            planChildren(
              's',
              shuffled.map((one) => nat(one)),
              there,
            ),
          ),
        ).toEqual([]);
        expect(new Set(there.map(({ metadata }) => metadata.name)).size).toBe(after.length);
      }),
    );
  });
});
