/**
 * What docs/architecture.md and the READMEs beside the code say about files is true: each exists,
 * and has what is named.
 */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from './product-files.ts';

const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');

/** Code spans that are paths of this project. */
const pathsIn = (text: string): string[] =>
  [...text.matchAll(/`((?:agent|coordinator|shared|deploy|test|docs)\/[\w./-]*)`/g)].map(
    ([, found = '']) => found,
  );

it.each([
  ['docs/architecture.md', 60],
  ['docs/glossary.md', 20],
  ['agent/README.md', 10],
])('%s names files and folders that are there', (page, least) => {
  const paths = pathsIn(read(page));
  expect(paths.length).toBeGreaterThan(least);
  expect(paths.filter((found) => !existsSync(path.join(ROOT, found)))).toEqual([]);
});

it('answers the ten questions of docs/architecture.md by files that have what is named', () => {
  const answers = [
    ...read('docs/architecture.md').matchAll(/^\| … .* \| `([^`]+)` \| `([^`]+)` \|$/gm),
  ].map(([, file = '', what = '']) => ({ file, what }));
  expect(answers).toHaveLength(10);
  expect(answers.filter(({ file, what }) => !read(file).includes(what))).toEqual([]);
});

it('has the pictures that pages show', () => {
  const pages = ['README.md', 'agent/README.md', 'docs/architecture.md'];
  const pictures = pages.flatMap((page) =>
    [...read(page).matchAll(/\]\(([^)]+\.svg)\)/g)].map(([, file = '']) =>
      path.join(path.dirname(page), file),
    ),
  );
  expect(pictures.length).toBeGreaterThan(4);
  expect(pictures.filter((file) => !existsSync(path.join(ROOT, file)))).toEqual([]);
});
