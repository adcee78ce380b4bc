/**
 * The linter's rule on names that are not of our choice, tried on a file of its own; that the
 * product is held to it, its configuration says.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import * as z from 'zod';
import { ROOT } from './product-files.ts';

const CONFIGURATION = {
  jsPlugins: [join(ROOT, 'test/run/own-properties.mjs')],
  categories: { correctness: 'off' },
  rules: { 'sdewan/own-properties': 'error' },
};
const REFUSED = [
  'name in table',
  '`agent-${name}` in table',
  'table[name]',
  'given[name]',
  'given[name.slice(1)]',
  'pod.metadata.labels?.[name]',
];
const TAKEN = [
  "'metadata' in pod",
  'Object.hasOwn(table, name)',
  'list[at]',
  "table['a']",
  'pod.metadata.labels?.[NAME]',
];

const textWith = (statement: string): string => `
const table: Readonly<Record<string, number>> = { a: 1 };
type Pod = { metadata: { labels?: Record<string, string> } };
export const some = (pod: Pod, given: { [name: string]: string }, list: string[], name: string, at: number) => {
  const NAME = 'a';
  return [${statement}, table, given, list, at, NAME, pod, name];
};`;

const saidSchema = z.object({
  diagnostics: z.array(z.object({ message: z.string(), filename: z.string() })),
});

/** Statement -> what the linter says of it. */
const said = new Map<string, string[]>();
beforeAll(() => {
  const folder = mkdtempSync(join(tmpdir(), 'own-properties-'));
  const statements = [...REFUSED, ...TAKEN];
  for (const [at, statement] of statements.entries())
    writeFileSync(join(folder, `${at}.ts`), textWith(statement));
  writeFileSync(join(folder, 'config.json'), JSON.stringify(CONFIGURATION));
  const linter = join(ROOT, 'node_modules/oxlint/bin/oxlint');
  const { stdout } = spawnSync(process.execPath, [linter, '-c', 'config.json', '-f', 'json', '.'], {
    cwd: folder,
    encoding: 'utf8',
  });
  rmSync(folder, { recursive: true });
  const { diagnostics } = saidSchema.parse(JSON.parse(stdout));
  for (const [at, statement] of statements.entries())
    said.set(
      statement,
      diagnostics.filter(({ filename }) => filename === `${at}.ts`).map(({ message }) => message),
    );
});

it.each(REFUSED)('%s is refused', (statement) => {
  expect(said.get(statement)).toEqual([expect.stringContaining('what every object has')]);
});

it.each(TAKEN)('%s is taken', (statement) => {
  expect(said.get(statement)).toEqual([]);
});

it('holds the product to it', () => {
  const text = readFileSync(join(ROOT, '.oxlintrc.json'), 'utf8');
  const overrides = z
    .object({
      overrides: z.array(z.object({ files: z.array(z.string()), rules: z.looseObject({}) })),
    })
    .parse(JSON.parse(text)).overrides;
  const held = overrides
    .filter(({ rules }) => Object.hasOwn(rules, 'sdewan/own-properties'))
    .map(({ files, rules }) => [rules['sdewan/own-properties'], files]);
  expect(held).toEqual([
    ['error', ['agent/**', 'coordinator/**', 'shared/**', 'deploy/**']],
    ['off', ['**/*.test.ts', 'shared/util/own.ts']],
  ]);
});
