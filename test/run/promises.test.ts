/**
 * What the documentation promises has its proof: promises.md names words that are there, and
 * tests that are.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
/** As it reads, whatever the lines and the emphasis. */
const words = (text: string): string => text.replaceAll('**', '').replaceAll(/\s+/g, ' ');

const table = read('test/run/promises.md');
const rows = table
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .slice(2)
  .map((line) => {
    const [, promise = '', where = '', proof = ''] = line.split('|').map((cell) => cell.trim());
    return {
      promise,
      document: where === 'README.md' ? where : `docs/${where}`,
      tests: [...proof.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path),
    };
  });

it('is a table with rows', () => {
  expect(rows.length).toBeGreaterThan(20);
});

describe.each(rows)('$promise', ({ promise, document, tests }) => {
  it('is promised there', () => {
    expect(words(read(document))).toContain(words(promise));
  });

  it('is proved by tests that exist', () => {
    expect(tests.length).toBeGreaterThan(0);
    const isThere = (path: string): boolean =>
      path.endsWith('.test.ts') && existsSync(join(ROOT, path));
    expect(tests.filter((path) => !isThere(path))).toEqual([]);
  });
});

it('versions are exact in package.json, and the lockfile names no registry', () => {
  const dependencies = z.record(z.string(), z.string()).default({});
  const schema = z.object({ dependencies, devDependencies: dependencies });
  const { dependencies: programs, devDependencies } = schema.parse(
    JSON.parse(read('package.json')),
  );
  const inexact = Object.entries({ ...programs, ...devDependencies }).filter(
    ([name, version]) => name !== 'kind-test-harness' && !/^\d+\.\d+\.\d+$/.test(version),
  );
  expect(inexact).toEqual([]);
  expect(read('package-lock.json')).not.toMatch(/"resolved": "https?:/);
});
