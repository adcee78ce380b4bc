import type { MutantResult } from '@stryker-mutator/api/core';
import { describe, expect, it } from 'vitest';
import { percentOf, scoreOf, type Equivalent } from './operators.ts';

const SOURCE = `const a = 1;
export const isSmall = (x: number): boolean =>
  x <
  10 && x > a;
`;

const mutant = (
  status: MutantResult['status'],
  replacement: string,
  [line, column, endLine, endColumn] = [3, 3, 4, 5],
): MutantResult => ({
  id: '',
  mutatorName: '',
  fileName: 'shared/a.ts',
  status,
  replacement,
  location: { start: { line, column }, end: { line: endLine, column: endColumn } },
});
const score = (results: MutantResult[], equivalents: Equivalent[] = []) =>
  scoreOf(results, equivalents, () => SOURCE);

const entry: Equivalent = {
  file: 'shared/a.ts',
  line: 'x <',
  becomes: ['x < 10 → x <= 10'],
  why: 'there are no such numbers',
};

describe('the score of a folder', () => {
  it('counts what tests noticed, one way or another, of what could be run', () => {
    const { killed, total } = score([
      mutant('Killed', '1'),
      mutant('Timeout', '2'),
      mutant('Survived', '3'),
      mutant('NoCoverage', '4'),
      mutant('RuntimeError', '5'),
    ]);
    expect([killed, total]).toEqual([2, 4]);
  });

  it('names each survivor by its place and by what it changes', () => {
    const { survivors } = score([
      mutant('Survived', 'x <= 10'),
      mutant('Survived', '2', [1, 11, 1, 12]),
    ]);
    expect(survivors).toEqual([
      'shared/a.ts:3: x <\n    x < 10 → x <= 10',
      'shared/a.ts:1: const a = 1;\n    1 → 2',
    ]);
  });

  it('leaves out what changes nothing', () => {
    expect(score([mutant('Survived', 'x <= 10'), mutant('Killed', '1')], [entry])).toEqual({
      killed: 1,
      total: 1,
      survivors: [],
      stale: [],
    });
  });

  it.each<[string, Equivalent]>([
    ['a test notices after all', { ...entry, becomes: ['x < 10 → 1'] }],
    ['is in another file', { ...entry, file: 'shared/b.ts' }],
    ['is on another line', { ...entry, line: 'const a' }],
  ])('says that it is out of date where the mutant %s', (_name, old) => {
    const { survivors, stale } = score(
      [mutant('Survived', 'x <= 10'), mutant('Killed', '1')],
      [old],
    );
    expect(survivors).toHaveLength(1);
    expect(stale).toEqual([`${old.file}: ${old.line}: ${old.becomes[0]}`]);
  });
});

it('a folder without mutants has no score', () => {
  expect(percentOf({ killed: 0, total: 0, survivors: [], stale: [] })).toBe(100);
  expect(percentOf({ killed: 9, total: 10, survivors: [], stale: [] })).toBe(90);
});
