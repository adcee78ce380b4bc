import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../product-files.ts';
import type { RunReport } from '../tally.ts';
import { outcomeOf, type Outcome } from './prove.ts';
import { isStrykers, mutated, readInvariants, readMutants } from './table.ts';
import { copyTree } from './tree.ts';

const invariants = readInvariants();
const mutants = readMutants();

describe('an invariant of docs/architecture.md', () => {
  it('is guarded by Stryker, or has a mutant', () => {
    expect(invariants.length).toBeGreaterThan(30);
    const byHand = new Set(mutants.map(({ invariant }) => invariant));
    const unguarded = invariants.filter((row) => !isStrykers(row) && !byHand.has(row.text));
    expect(unguarded.map(({ text }) => text)).toEqual([]);
  });
});

describe('a mutant', () => {
  it('breaks an invariant, and is caught by a test that shows it', () => {
    const wrong = mutants.filter(
      ({ invariant, caughtBy }) =>
        !invariants.some(({ text, shownBy }) => text === invariant && shownBy.includes(caughtBy)),
    );
    expect(wrong).toEqual([]);
  });

  it('changes a line that is there', () => {
    const same = mutants.filter((mutant) => {
      const text = readFileSync(path.join(ROOT, mutant.file), 'utf8');
      return mutated(text, mutant) === text;
    });
    expect(same).toEqual([]);
  });

  it('is refused when its line is there twice, or not at all', () => {
    const mutant = { invariant: '', file: 'a.ts', find: 'a', replace: 'b', caughtBy: '' };
    expect(mutated('  a\naa', mutant)).toBe('b\naa');
    expect(() => mutated('a\n a', mutant)).toThrow('a.ts has 2 lines "a"');
    expect(() => mutated('aa', mutant)).toThrow('a.ts has 0 lines "a"');
  });
});

describe('a run under a mutant', () => {
  const report = (errors: string[], ...failures: string[]): RunReport => ({
    files: [
      {
        project: 'unit',
        file: 'a.test.ts',
        tookMs: 1,
        isFinished: true,
        errors,
        tests: failures.map((error) => ({ name: 'does', state: 'failed', mayRetry: false, error })),
      },
    ],
    unhandled: [],
  });
  it.each<[string, RunReport, number, Outcome]>([
    ['passes', report([]), 0, { state: 'green', files: ['a.test.ts'] }],
    ['has a failed test', report([], 'Error: 1 is not 2'), 1, { state: 'red', by: ['does'] }],
    ['cannot load a file', report(['no export']), 1, { state: 'broken', why: 'no export' }],
    [
      'names what is not there',
      report([], 'ReferenceError: x'),
      1,
      { state: 'broken', why: 'ReferenceError: x' },
    ],
    ['fails without a test', report([]), 1, { state: 'broken', why: 'vitest ended with 1' }],
  ])('is one that %s', (_, run, exitCode, outcome) => {
    expect(outcomeOf(run, exitCode)).toEqual(outcome);
  });
});

it('copies the tree as the checkout is now, with workspaces of its own, and the copy goes away', () => {
  const checkout = mkdtempSync(path.join(tmpdir(), 'sdewan-checkout-'));
  const write = (name: string): void => {
    mkdirSync(path.dirname(path.join(checkout, name)), { recursive: true });
    writeFileSync(path.join(checkout, name), name);
  };
  for (const name of ['tools/a.ts', 'node_modules/library/index.js', 'run.log']) write(name);
  writeFileSync(path.join(checkout, '.gitignore'), 'node_modules/\n*.log\n');
  symlinkSync('../tools', path.join(checkout, 'node_modules/tools'));
  execFileSync('git', ['init', '--quiet'], { cwd: checkout });
  execFileSync('git', ['add', '.'], { cwd: checkout });
  write('new.ts');
  const tree = copyTree(checkout);
  const at = (name: string): string => path.join(tree.root, name);
  writeFileSync(at('tools/a.ts'), 'changed');
  expect(readFileSync(at('node_modules/tools/a.ts'), 'utf8')).toBe('changed');
  expect(readFileSync(path.join(checkout, 'tools/a.ts'), 'utf8')).toBe('tools/a.ts');
  expect(['new.ts', 'node_modules/library/index.js', 'run.log'].map(at).map(existsSync)).toEqual([
    true,
    true,
    false,
  ]);
  tree[Symbol.dispose]();
  expect(existsSync(tree.root)).toBe(false);
  rmSync(checkout, { recursive: true });
});
