/**
 * The page on security, the table of test/attacks and the attacks hold each other: the pages name
 * each attack, each test that they name is there, and no actor is without one.
 */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const page = read('docs/security.md');
const pages = page + read('test/attacks/README.md');
const testsIn = (text: string): string[] =>
  [...text.matchAll(/`([\w/-]+\.test\.ts)`/g)].map(([, path = '']) => path);

const [, afterTitle = ''] = page.split('\n## What each right allows at worst\n');
const [section = ''] = afterTitle.split('\n### ');
const actors = section
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .slice(1)
  .map((line) => {
    const [, who = '', , , shownBy = ''] = line.split(/(?<!\\)\|/).map((cell) => cell.trim());
    return { who, tests: testsIn(shownBy) };
  });

it('has each attack on a page', () => {
  const attacks = globSync('test/attacks/**/*.test.ts', { cwd: ROOT });
  expect(attacks.length).toBeGreaterThan(15);
  const named = new Set(testsIn(pages));
  expect(attacks.filter((path) => !named.has(path))).toEqual([]);
});

it('has each test that a page names', () => {
  expect(testsIn(pages).filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

it('has a test for each actor that shows what it can do', () => {
  expect(actors.length).toBeGreaterThan(7);
  expect(actors.filter(({ tests }) => tests.length === 0)).toEqual([]);
});
