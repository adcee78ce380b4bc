import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { applyDelta, comparisonOf, deltaOf, isEmptyDelta, sectionsEqual } from './delta.ts';
import type { UciPackage, UciSection } from './model.ts';
import { anySection } from './testing.ts';

const isOurs = ({ name }: UciSection) => name.startsWith('own_');
const rule = (name: string, options: UciSection['options'] = {}, type = 'rule'): UciSection => ({
  name,
  anonymous: false,
  type,
  options,
});
const firewall = (...sections: UciSection[]): UciPackage => ({ name: 'firewall', sections });

describe('deltaOf', () => {
  it.each<{
    when: string;
    observed: UciPackage;
    desired: UciSection[];
    expected: { remove?: string[]; set?: string[]; append?: string[] };
  }>([
    {
      when: 'nothing differs but the order of options',
      observed: firewall(rule('admin'), rule('own_a', { a: '1', b: '2' })),
      desired: [rule('own_a', { b: '2', a: '1' })],
      expected: {},
    },
    {
      when: 'an option differs: in place',
      observed: firewall(rule('own_a', { a: '1' }), rule('own_b')),
      desired: [rule('own_a', { a: '2' }), rule('own_b')],
      expected: { set: ['own_a'] },
    },
    {
      when: 'one is new, at the end',
      observed: firewall(rule('own_a')),
      desired: [rule('own_a'), rule('own_b')],
      expected: { append: ['own_b'] },
    },
    {
      when: 'one is new in the middle: only the tail moves',
      observed: firewall(rule('own_a'), rule('own_c')),
      desired: [rule('own_a'), rule('own_b'), rule('own_c')],
      expected: { remove: ['own_c'], append: ['own_b', 'own_c'] },
    },
    {
      when: 'one is gone in the middle: nothing moves',
      observed: firewall(rule('own_a'), rule('own_b'), rule('own_c')),
      desired: [rule('own_a'), rule('own_c')],
      expected: { remove: ['own_b'] },
    },
    {
      when: 'an administrator has put a rule behind ours: ours go behind it',
      observed: firewall(rule('own_a'), rule('admin'), rule('own_b')),
      desired: [rule('own_a'), rule('own_b')],
      expected: { remove: ['own_a', 'own_b'], append: ['own_a', 'own_b'] },
    },
    {
      when: 'an administrator has put a section of another type behind ours: nothing moves',
      observed: firewall(rule('own_a'), rule('admin', {}, 'zone')),
      desired: [rule('own_a')],
      expected: {},
    },
    {
      when: 'a section of ours became another type: in place',
      observed: firewall(rule('own_a', { a: '1' }, 'policy')),
      desired: [rule('own_a', { a: '1' })],
      expected: { set: ['own_a'] },
    },
    {
      when: 'nothing of ours is wanted any more',
      observed: firewall(rule('admin'), rule('own_a')),
      desired: [],
      expected: { remove: ['own_a'] },
    },
  ])('moves nothing more than needed when $when', ({ observed, desired, expected }) => {
    const { remove, set, append } = deltaOf({ observed, desired, isOurs });
    expect({
      remove,
      set: set.map(({ after }) => after.name),
      append: append.map(({ name }) => name),
    }).toEqual({
      remove: [],
      set: [],
      append: [],
      ...expected,
    });
  });

  const names = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g'));
  const own = fc
    .tuple(names, fc.array(anySection, { minLength: 7, maxLength: 7 }))
    .map(([chosen, pool]) =>
      chosen.map((name, index) => ({ ...(pool[index] ?? rule(name)), name: `own_${name}` })),
    );
  const others = fc
    .tuple(names, anySection)
    .map(([chosen, base]) => chosen.map((name) => ({ ...base, name: `admin_${name}` })));
  const observedPackages = fc
    .tuple(own, others)
    .chain(([ours, theirs]) =>
      fc.shuffledSubarray([...ours, ...theirs], { minLength: ours.length + theirs.length }),
    )
    .map((sections) => firewall(...sections));

  it('leads to what is wanted, in order, and leaves sections of others as they are', () => {
    fc.assert(
      fc.property(observedPackages, own, (observed, desired) => {
        const delta = deltaOf({ observed, desired, isOurs });
        const after = applyDelta(observed, delta);
        expect(after.sections.filter(isOurs).map(({ name }) => name)).toEqual(
          desired.map(({ name }) => name),
        );
        for (const [index, section] of after.sections.filter(isOurs).entries()) {
          expect(sectionsEqual(section, desired[index] ?? rule('none'))).toBe(true);
        }
        const theirs = (uciPackage: UciPackage) => uciPackage.sections.filter((s) => !isOurs(s));
        expect(theirs(after)).toEqual(theirs(observed));
        expect(isEmptyDelta(deltaOf({ observed: after, desired, isOurs }))).toBe(true);
      }),
    );
  });

  it("ends with an administrator's sections before ours of the same type", () => {
    fc.assert(
      fc.property(observedPackages, own, (observed, desired) => {
        const { sections } = applyDelta(observed, deltaOf({ observed, desired, isOurs }));
        for (const [place, section] of sections.entries()) {
          if (isOurs(section)) continue;
          const earlier = sections.slice(0, place).filter(isOurs);
          expect(earlier.map(({ type }) => type)).not.toContain(section.type);
        }
      }),
    );
  });
});

describe('a comparison of sections', () => {
  const sections = fc
    .uniqueArray(
      fc.tuple(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'), fc.constantFrom('1', '2')),
      {
        selector: ([name]) => name,
      },
    )
    .map((all) => all.map(([name, value]) => rule(name, { value })));

  it('finds by name what differs and what is there as well, in whatever order they stand', () => {
    fc.assert(
      fc.property(sections, sections, (observed, desired) => {
        const isIn = (all: readonly UciSection[], one: UciSection) =>
          all.some((other) => sectionsEqual(one, other));
        const isNamed = (one: UciSection) => desired.some(({ name }) => name === one.name);
        expect(comparisonOf(observed, desired)).toEqual({
          differing: desired.filter((one) => !isIn(observed, one)),
          beside: observed.filter((one) => !isNamed(one)),
        });
      }),
    );
  });
});

describe('sections that keep their places', () => {
  const pinned = new Set(['own_p', 'own_q']);
  const { remove, set, append } = deltaOf({
    observed: firewall(
      rule('own_a'),
      rule('own_q', { kept: '1' }),
      rule('own_p', { a: '1' }),
      rule('own_gone'),
    ),
    desired: [rule('own_p', { a: '2' }), rule('own_a'), rule('own_new')],
    isOurs,
    pinned,
  });

  it('change where they are, wherever they belong', () => {
    expect(set).toEqual([{ before: rule('own_p', { a: '1' }), after: rule('own_p', { a: '2' }) }]);
  });

  it('are left alone when they are not wanted, and move no other section behind them', () => {
    expect(remove).toEqual(['own_gone']);
    expect(append).toEqual([rule('own_new')]);
  });

  it('change nothing when they are as wanted', () => {
    const observed = firewall(rule('own_p', { a: '1' }));
    const delta = deltaOf({ observed, desired: observed.sections, isOurs, pinned });
    expect(delta).toEqual({ package: 'firewall', remove: [], set: [], append: [] });
  });
});

describe('sections are equal', () => {
  const one = rule('r', { text: 'a', list: ['a', 'b'] });
  it.each<[string, UciSection, boolean]>([
    ['in any order of options', rule('r', { list: ['a', 'b'], text: 'a' }), true],
    ['with an option that is empty', rule('r', { ...one.options, empty: '', none: [] }), true],
    ['not of another type', { ...one, type: 'zone' }, false],
    ['not of another name', { ...one, name: 's' }, false],
    ['not with another text', rule('r', { ...one.options, text: 'b' }), false],
    ['not with a list in another order', rule('r', { ...one.options, list: ['b', 'a'] }), false],
    ['not with another item in the list', rule('r', { ...one.options, list: ['a', 'c'] }), false],
    ['not with a shorter list', rule('r', { ...one.options, list: ['a'] }), false],
    ['not with a longer list', rule('r', { ...one.options, list: ['a', 'b', 'c'] }), false],
    ['not with a list of one for a text', rule('r', { ...one.options, text: ['a'] }), false],
    ['not with one option more', rule('r', { ...one.options, more: 'c' }), false],
    ['not with another option instead', rule('r', { list: ['a', 'b'], other: 'a' }), false],
  ])('%s', (_name, other, expected) => {
    expect(sectionsEqual(one, other)).toBe(expected);
    expect(sectionsEqual(other, one)).toBe(expected);
  });
});

it('applies a delta as it says, and is empty only when it says nothing', () => {
  const [a, b, c] = [rule('a'), rule('b', { x: '1' }), rule('c')];
  const nothing = { package: 'firewall', remove: [], set: [], append: [] };
  const changed = { before: b, after: rule('b', { x: '2' }) };
  const unknown = { before: rule('z'), after: rule('z') };
  const parts = { remove: ['a', 'nobody'], set: [changed, unknown], append: [c] };
  expect(applyDelta(firewall(a, b), { ...nothing, ...parts })).toEqual(firewall(changed.after, c));
  expect(isEmptyDelta(nothing)).toBe(true);
  for (const [part, value] of Object.entries(parts))
    expect(isEmptyDelta({ ...nothing, [part]: value })).toBe(false);
});
