import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ruleOf } from '#shared/compile/testing.ts';
import type { Child } from '#shared/resources/generation.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { planChildren, type Plan } from './plan.ts';

const nat = (address: string): Child => ({
  kind: 'CNFNAT',
  suffix: 'nat',
  numbered: true,
  spec: { dest_ip: address },
});
const present = (name: string, address: string, metadata = {}): RuleObject =>
  ruleOf('CNFNAT', name, { dest_ip: address }, metadata);

const summary = ({ create, update, remove }: Omit<Plan, 'waiting'>) => ({
  create: create.map(({ name, spec }) => `${name} ${spec['dest_ip']}`),
  change: update
    .filter(({ present: { spec }, wanted }) => JSON.stringify(spec) !== JSON.stringify(wanted.spec))
    .map(({ wanted: { name, spec } }) => `${name} ${spec['dest_ip']}`),
  remove: remove.map(({ metadata }) => metadata.name),
});

describe('planChildren', () => {
  it.each<[string, Child[], RuleObject[], ReturnType<typeof summary>]>([
    [
      'numbers new ones from 0',
      [nat('a'), nat('b')],
      [],
      { create: ['snat0 a', 'snat1 b'], change: [], remove: [] },
    ],
    [
      'leaves alone what is right, whatever its number',
      [nat('a'), nat('b')],
      [present('snat0', 'b'), present('snat1', 'a')],
      { create: [], change: [], remove: [] },
    ],
    [
      'reuses one that is not needed any more for another',
      [nat('a'), nat('c')],
      [present('snat0', 'a'), present('snat1', 'b')],
      { create: [], change: ['snat1 c'], remove: [] },
    ],
    [
      'removes those that are too many',
      [nat('b')],
      [present('snat0', 'a'), present('snat1', 'b')],
      { create: [], change: [], remove: ['snat0'] },
    ],
    [
      'never treats a rule of another kind as its own',
      [nat('a')],
      [{ ...present('snat0', 'a'), kind: 'FirewallSNAT' }],
      { create: ['snat0 a'], change: [], remove: ['snat0'] },
    ],
    [
      'fills gaps',
      [nat('a'), nat('b'), nat('c')],
      [present('snat1', 'b')],
      { create: ['snat0 a', 'snat2 c'], change: [], remove: [] },
    ],
    [
      'does not use a name until the rule that had it is gone',
      [nat('a')],
      [present('snat0', 'a', { deletionTimestamp: '2026-01-01T00:00:00Z' })],
      { create: ['snat1 a'], change: [], remove: [] },
    ],
    [
      'removes those that no part of the CR asks for',
      [nat('a')],
      [present('snat0', 'a'), present('snat-other', 'a'), ruleOf('CNFRoute', 'sroute0', {})],
      { create: [], change: [], remove: ['snat-other', 'sroute0'] },
    ],
  ])('%s', (_what, children, there, expected) => {
    expect(summary(planChildren('s', children, there))).toEqual(expected);
  });

  it('an only child has no number', () => {
    const only = { ...nat('a'), numbered: false };
    expect(planChildren('s', [only], []).create.map(({ name }) => name)).toEqual(['snat']);
    expect(summary(planChildren('s', [only], [present('snat', 'b')]))).toEqual({
      create: [],
      change: ['snat a'],
      remove: [],
    });
  });

  it('its result needs no further change, in whatever order the answers come', () => {
    const addresses = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'), {
      maxLength: 8,
    });
    fc.assert(
      fc.property(addresses, addresses, fc.integer(), (before, after, seed) => {
        const apply = (there: RuleObject[], wanted: string[]): RuleObject[] => {
          const { create, update } = planChildren('s', wanted.map(nat), there);
          return [...create, ...update.map((one) => one.wanted)].map(({ name, spec }) =>
            present(name, spec['dest_ip'] ?? ''),
          );
        };
        const there = apply(apply([], before), after);
        const shuffled = after.toSorted((a, b) => ((a.charCodeAt(0) * seed) % 7) - b.charCodeAt(0));
        expect(summary(planChildren('s', shuffled.map(nat), there))).toEqual({
          create: [],
          change: [],
          remove: [],
        });
        expect(new Set(there.map(({ metadata }) => metadata.name)).size).toBe(after.length);
      }),
    );
  });

  it.each<[string, 4 | 6, Child[], RuleObject[], ReturnType<typeof summary>, string[]]>([
    [
      'of a family of which nothing is known stays, and becomes no other',
      6,
      [nat('192.0.2.2'), nat('192.0.2.3')],
      [present('snat0', '2001:db8::1'), present('snat1', '192.0.2.1')],
      { create: ['snat2 192.0.2.3'], change: ['snat1 192.0.2.2'], remove: [] },
      ['snat0'],
    ],
    [
      'of the other family goes when it is not wanted',
      6,
      [nat('192.0.2.2')],
      [present('snat0', '192.0.2.1'), present('snat1', '192.0.2.2')],
      { create: [], change: [], remove: ['snat0'] },
      [],
    ],
    [
      'that is a network counts, too',
      4,
      [nat('2001:db8::1')],
      [present('snat0', '192.0.2.0/24'), present('snat1', '2001:db8::1')],
      { create: [], change: [], remove: [] },
      ['snat0'],
    ],
    [
      'that is wanted is not kept back',
      4,
      [nat('192.0.2.1')],
      [present('snat0', '192.0.2.1')],
      { create: [], change: [], remove: [] },
      [],
    ],
  ])('what is there %s', (_what, unknown, children, there, expected, waiting) => {
    const plan = planChildren('s', children, there, new Set([unknown]));
    expect(summary(plan)).toEqual(expected);
    expect(plan.waiting.map(({ metadata }) => metadata.name)).toEqual(waiting);
  });
});
