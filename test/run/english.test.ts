/** The linter's rules on words, on files of their own, and the pages that are held to them. */
import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { vagueWordsIn } from './english.mjs';
import { ROOT } from './product-files.ts';

const SAID = z.object({ diagnostics: z.array(z.object({ filename: z.string() })) });
/** Their generated tables are made of messages. */
const PAGES = globSync(['README.md', 'docs/*.md'], { cwd: ROOT, exclude: ['docs/kinds.md'] });
const CONFIGURATION = {
  jsPlugins: [join(ROOT, 'test/run/english.mjs')],
  categories: { correctness: 'off' },
  rules: { 'english/comments': 'error', 'english/tests': 'error' },
};
const written = (page: string): string =>
  readFileSync(join(ROOT, page), 'utf8').replaceAll(/<!-- begin generated[^]*?<!-- end/g, '');
const REFUSED = [
  '// Nobody reads it.',
  '/** Users who may read it. */',
  '/**\n * Of one pod.\n */',
  `// ${'longer '.repeat(15)}`,
  "it('a rule is applied', some);",
  "it.each(['a'])(`and %s ends`, some);",
  "describe('what somebody wrote', some);",
];
const TAKEN = [
  '/** The most pods, of one CNF. */',
  `export const text = '${'longer, by nobody '.repeat(8)}';`,
  "it('applies a rule', some);",
  "it.each(['a'])('%s ends', some);",
  "describe('a rule', some);",
];

it('refuses what the list has, and takes the rest', () => {
  const folder = mkdtempSync(join(tmpdir(), 'english-'));
  const lines = [...REFUSED, ...TAKEN];
  lines.forEach((line, at) => writeFileSync(join(folder, `${at}.ts`), `${line}\n`));
  writeFileSync(join(folder, 'config.json'), JSON.stringify(CONFIGURATION));
  const linter = join(ROOT, 'node_modules/oxlint/bin/oxlint');
  const { stdout } = spawnSync(process.execPath, [linter, '-c', 'config.json', '-f', 'json', '.'], {
    cwd: folder,
    encoding: 'utf8',
  });
  rmSync(folder, { recursive: true });
  const { diagnostics } = SAID.parse(JSON.parse(stdout));
  const refused = diagnostics.map(({ filename }) => lines[Number.parseInt(filename, 10)]);
  expect(new Set(refused)).toEqual(new Set(REFUSED));
});

it('finds none of the words in the documentation', () => {
  const found = PAGES.flatMap((page) =>
    vagueWordsIn(written(page)).map((word) => `${page}: ${word}`),
  );
  expect(found).toEqual([]);
});
