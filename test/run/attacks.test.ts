/** The page on security and the attacks hold each other: it names each attack, each test that it names is there, and no actor is without one. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const page = readFileSync(join(ROOT, 'docs/security.md'), 'utf8');
const testsIn = (text: string): string[] =>
  [...text.matchAll(/`([\w/-]+\.test\.ts)`/g)].map(([, path = '']) => path);

const [, afterTitle = ''] = page.split('\n## Who can do what at worst\n');
const [section = ''] = afterTitle.split('\n### ');
const actors = section
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .slice(1)
  .map((line) => {
    const [, who = '', , , shownBy = ''] = line.split(/(?<!\\)\|/).map((cell) => cell.trim());
    return { who, tests: testsIn(shownBy) };
  });

it('each attack is on the page', () => {
  const attacks = globSync('test/attacks/**/*.test.ts', { cwd: ROOT });
  expect(attacks.length).toBeGreaterThan(15);
  const named = new Set(testsIn(page));
  expect(attacks.filter((path) => !named.has(path))).toEqual([]);
});

it('each test on the page is there', () => {
  expect(testsIn(page).filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

it.each([
  ['a stranger in the cluster', /no right at all/],
  ['a tenant with create', /`create` on rules/],
  ['a tenant with edit', /^`edit`/],
  ['a tenant with admin', /^`admin`/],
  ["a CNF's container", /a program in a CNF's pod/],
  ["an agent's token", /^an agent's token/],
  ["the coordinator's token", /^the coordinator's token/],
  ["a CNF's administrator", /its administrator/],
])('%s is among the actors', (_, words) => {
  expect(actors.filter(({ who }) => words.test(who))).toHaveLength(1);
});

describe.each(actors)('$who', ({ tests }) => {
  it('has a test that shows it', () => {
    expect(tests).not.toEqual([]);
  });
});
