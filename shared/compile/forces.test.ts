import { describe, expect, it } from 'vitest';
import { kindOf } from '../resources/registry.ts';
import type { KindDefinition, Reference } from '../resources/kind.ts';
import type { Candidate, Rendering } from './candidate.ts';
import { forcesOf } from './forces.ts';
import { namedSection, ruleOf } from './testing.ts';

const kind = kindOf('FirewallRule') as KindDefinition;
const to = (name: string): Reference => ({ path: `spec.${name}`, kind: 'Any', name });

/** Its renderings, best first, each by the names that it refers to. */
const candidate = (name: string, ...renderings: string[][]): Candidate => ({
  rule: ruleOf('Any', name, {}),
  key: `Any/${name}`,
  kind,
  revision: '',
  problem: undefined,
  references: [],
  claims: [],
  renderings: renderings.map((names, at): Rendering => ({
    generation: renderings.length - at,
    sections: [],
    shared: [],
    beside: new Map(),
    references: names.map(to),
  })),
});

const look = (candidates: Candidate[], administrators: string[] = [], unnamed: string[] = []) => {
  const named = new Map(administrators.map((name) => [`Any/${name}`, namedSection('any', name)]));
  const names = [...candidates.map(({ rule }) => rule.metadata.name), ...unnamed];
  const claimed = new Set(names.map((name) => `Any/${name}`));
  const { inForce, waitsFor } = forcesOf(candidates, { sections: new Map(), named }, claimed);
  const byName = <T>(map: ReadonlyMap<Candidate, T>): [string, T][] =>
    [...map].map(([{ rule }, value]) => [rule.metadata.name, value]);
  return {
    inForce: Object.fromEntries(
      byName(inForce).map(([name, { generation }]) => [name, generation]),
    ),
    waitsFor: Object.fromEntries(
      byName(waitsFor).map(([name, reference]) => [name, reference.name]),
    ),
  };
};

describe('what is in force', () => {
  const cases: Record<string, [Candidate[], ReturnType<typeof look>]> = {
    'what refers to nothing': [[candidate('a', [])], { inForce: { a: 1 }, waitsFor: {} }],
    'what refers to something in force': [
      [candidate('a', ['b']), candidate('b', [])],
      { inForce: { a: 1, b: 1 }, waitsFor: {} },
    ],
    'a ring of rules that refer to each other': [
      [candidate('a', ['b']), candidate('b', ['a'])],
      { inForce: { a: 1, b: 1 }, waitsFor: {} },
    ],
    'nothing that refers to a rule that does not exist': [
      [candidate('a', ['x'])],
      { inForce: {}, waitsFor: { a: 'x' } },
    ],
    'nothing that refers to a rule without a rendering': [
      [candidate('a', ['b']), candidate('b')],
      { inForce: {}, waitsFor: { a: 'b' } },
    ],
    'nothing that refers, directly or not, to a rule that waits, in any order': [
      [candidate('a', ['b']), candidate('b', ['c']), candidate('c', ['x']), candidate('d', ['a'])],
      { inForce: {}, waitsFor: { a: 'b', b: 'c', c: 'x', d: 'a' } },
    ],
    'the last good spec, where the new one waits': [
      [candidate('a', ['x'], ['b']), candidate('b', [])],
      { inForce: { a: 1, b: 1 }, waitsFor: { a: 'x' } },
    ],
    'what refers to a rule whose last good spec is in force': [
      [candidate('a', ['b']), candidate('b', ['x'], [])],
      { inForce: { a: 1, b: 1 }, waitsFor: { b: 'x' } },
    ],
    'no version of a rule that waits for two things; the result names what the newest waits for': [
      [candidate('a', ['x'], ['y'])],
      { inForce: {}, waitsFor: { a: 'x' } },
    ],
  };
  it.each(Object.entries(cases))('%s', (_name, [candidates, expected]) => {
    expect(look(candidates)).toEqual(expected);
  });

  it('includes what refers to something of an administrator', () => {
    expect(look([candidate('a', ['wan'])], ['wan']).inForce).toEqual({ a: 1 });
  });

  it('includes nothing that refers to a rule which does not get its name, though an administrator has that', () => {
    const expected = { inForce: {}, waitsFor: { a: 'wan' } };
    expect(look([candidate('a', ['wan'])], ['wan'], ['wan'])).toEqual(expected);
    expect(look([candidate('a', ['wan']), candidate('wan')], ['wan'])).toEqual(expected);
  });
});
