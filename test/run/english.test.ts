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
const PAGES = globSync(['README.md', 'docs/*.md'], { cwd: ROOT });
const MANIFESTS = globSync('deploy/**/*.yaml', { cwd: ROOT });
const CONFIGURATION = {
  jsPlugins: [join(ROOT, 'test/run/english.mjs')],
  categories: { correctness: 'off' },
  rules: { 'english/comments': 'error', 'english/tests': 'error', 'english/texts': 'error' },
};
const textOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const commentsOf = (manifest: string): string =>
  [...textOf(manifest).matchAll(/^ *# ?(.*)$/gm)].map(([, line]) => line).join(' ');
const REFUSED = [
  '// Nobody reads it.',
  '/** Users who may read it. */',
  '/**\n * Of one pod.\n */',
  `// ${'longer '.repeat(15)}`,
  "it('a rule is applied', some);",
  "it.each(['a'])(`and %s ends`, some);",
  "describe('what somebody wrote', some);",
  "export const text = 'changed by somebody';",
  'export const text = `${some}, by nobody`;',
];
const TAKEN = [
  '/** The most pods, of one CNF. */',
  `export const text = '${'longer, '.repeat(8)}';`,
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

it('finds none of the words in the documentation and in comments of manifests', () => {
  const read = [
    ...PAGES.map((file) => ({ file, text: textOf(file) })),
    ...MANIFESTS.map((file) => ({ file, text: commentsOf(file) })),
  ];
  const found = read.flatMap(({ file, text }) =>
    vagueWordsIn(text).map((word) => `${file}: ${word}`),
  );
  expect(found).toEqual([]);
});
