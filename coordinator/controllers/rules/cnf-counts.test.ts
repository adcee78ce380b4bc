import { expect, it } from 'vitest';
import { createCnfCounts, OTHER, type CnfLabels } from './cnf-counts.ts';

const cnf = (purpose: string): CnfLabels => ({ namespace: 'edge', purpose });
const text = (counted: Iterable<readonly [CnfLabels, number]>): string[] =>
  [...counted].map(([{ purpose }, count]) => `${purpose}=${count}`);

it('keeps what was counted once, with zero', () => {
  const fill = createCnfCounts<CnfLabels>(10);
  expect(text(fill([[cnf('a'), 1]]))).toEqual(['a=1']);
  expect(text(fill([[cnf('b'), 2]]))).toEqual(['b=2', 'a=0']);
  expect(text(fill([[cnf('a'), 3]]))).toEqual(['a=3', 'b=0']);
});

it('sums those beyond the bound, and displaces none that is shown', () => {
  const fill = createCnfCounts<CnfLabels>(2);
  fill([[cnf('z'), 1]]);
  const many: (readonly [CnfLabels, number])[] = ['a', 'b', 'c', 'z'].map((name) => [cnf(name), 1]);
  expect(text(fill(many))).toEqual(['z=1', 'a=1', `${OTHER.purpose}=2`]);
});

it('zeros make room', () => {
  const fill = createCnfCounts<CnfLabels>(2);
  fill([
    [cnf('a'), 1],
    [cnf('b'), 1],
  ]);
  expect(
    text(
      fill([
        [cnf('c'), 1],
        [cnf('d'), 1],
      ]),
    ),
  ).toEqual(['c=1', 'd=1']);
});
