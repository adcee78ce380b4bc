import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import {
  absent,
  alike,
  all,
  any,
  choose,
  equal,
  filled,
  given,
  is,
  matches,
  matchesAsText,
  nameIsNot,
  nameLimit,
  not,
  present,
  sameFamily,
  specRule,
  unique,
  when,
  type Condition,
} from './conditions.ts';
import { resources } from './resources.ts';

const hasA = given('a');
const hasB = given('b');

/** Text in CEL -> specs for which it holds, and specs for which it does not. */
const cases: readonly [string, Condition, object[], object[]][] = [
  ["has(self.a) && self.a != ''", hasA, [{ a: 'x' }], [{}, { a: undefined }]],
  ["!has(self.a) || self.a == ''", absent('a'), [{}, { a: undefined }], [{ a: 'x' }]],
  ['has(self.a)', present('a'), [{ a: {} }], [{}]],
  [
    'has(self.a.b) && self.a.b.size() > 0',
    filled('a.b'),
    [{ a: { b: ['x'] } }, { a: { b: { x: 1 } } }],
    [{ a: { b: [] } }, { a: { b: {} } }, { a: {} }],
  ],
  [
    "has(self.a) && self.a in ['x', 'y']",
    is('a', 'x', 'y'),
    [{ a: 'x' }, { a: 'y' }],
    [{ a: 'z' }, {}],
  ],
  [
    "has(self.a) && self.a.matches('^(1|22)$')",
    matches('a', '1|22'),
    [{ a: '22' }],
    [{ a: '12' }, {}],
  ],
  [
    "has(self.a) && string(self.a).matches('^(1|22)$')",
    matchesAsText('a', '1|22'),
    [{ a: '22' }],
    [{ a: '12' }, {}],
  ],
  [
    "self.a.contains(':') == self.b.contains(':')",
    sameFamily('a', 'b'),
    [
      { a: '10.0.0.1', b: '10.0.0.0/8' },
      { a: '::1', b: '::ffff:10.0.0.1' },
    ],
    [{ a: '::1', b: '10.0.0.1' }],
  ],
  ['self.a == self.b', equal('a', 'b'), [{ a: 'x', b: 'x' }], [{ a: 'x', b: 'y' }]],
  [
    'self.a.all(a, self.a.exists_one(b, b.k == a.k))',
    unique('a', 'k'),
    [{ a: [{ k: 1 }, { k: 2 }] }, { a: [] }],
    [{ a: [{ k: 1 }, { k: 1 }] }],
  ],
  [
    "(has(self.a) && self.a != '') && (has(self.b) && self.b != '')",
    all(hasA, hasB),
    [{ a: 'x', b: 'x' }],
    [{ a: 'x' }, { b: 'x' }, {}],
  ],
  [
    "(has(self.a) && self.a != '') || (has(self.b) && self.b != '')",
    any(hasA, hasB),
    [{ a: 'x' }, { b: 'x' }],
    [{}],
  ],
  ['!(has(self.a))', not(present('a')), [{}], [{ a: {} }]],
  [
    "(!(has(self.a) && self.a != '')) || (has(self.b) && self.b != '')",
    when(hasA, hasB),
    [{}, { b: 'x' }, { a: 'x', b: 'x' }],
    [{ a: 'x' }],
  ],
  [
    "(has(self.a) && self.a != '') ? (has(self.b) && self.b != '') : (has(self.c))",
    choose(hasA, hasB, present('c')),
    [{ a: 'x', b: 'x' }, { c: {} }],
    [{ a: 'x', c: {} }, { b: 'x' }],
  ],
  [
    "(has(self.a) && self.a != '') == (has(self.b) && self.b != '')",
    alike(hasA, hasB),
    [{}, { a: 'x', b: 'x' }],
    [{ a: 'x' }, { b: 'x' }],
  ],
];

describe.each(cases)('%s', (cel, condition, holding, broken) => {
  it('has this text in CEL', () => {
    expect(condition.cel).toBe(cel);
  });
  it('holds in code for exactly the same specs', () => {
    expect(holding.map((spec) => condition.holds({ ...spec }))).toEqual(holding.map(() => true));
    expect(broken.map((spec) => condition.holds({ ...spec }))).toEqual(broken.map(() => false));
  });
});

it('gives a rule of a spec the condition, and says where', () => {
  expect(specRule('a', hasA, 'is required')).toEqual({
    path: 'spec.a',
    message: 'is required',
    ...hasA,
  });
});

it.each([
  [nameLimit(3, 'why'), 'self.metadata.name.size() <= 3', 'abc', 'abcd', true],
  [nameIsNot('^[0-9]', 'why'), "!self.metadata.name.matches('^[0-9]')", 'a1', '1a', false],
])('writes a rule of names as CEL and code: %#', (rule, cel, good, bad, isLimit) => {
  expect(rule).toMatchObject({ cel, isLimit });
  expect([rule.holds(good), rule.holds(bad)]).toEqual([true, false]);
});

describe.each(resources.filter(({ specRules }) => specRules))(
  '$kind',
  ({ spec, specRules = [] }) => {
    it('has rules only about fields that it has', () => {
      const fields = spec instanceof z.ZodObject ? Object.keys(spec.shape) : [];
      const named = specRules.flatMap(({ cel, path }) => [
        path.replace(/^spec\./, ''),
        ...[...cel.matchAll(/\bself\.(\w+)/g)].map(([, field = '']) => field),
      ]);
      expect(named.filter((field) => !fields.includes(field))).toEqual([]);
    });
  },
);
