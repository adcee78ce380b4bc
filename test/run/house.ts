/**
 * The numbers of the house, at the end of `.ci/run`: what there is to carry, beside what there was.
 * Of what git lists, so that they are the same in every clone.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import * as z from 'zod';

/** As this program measured it at the commit at which the house began to be cleared. */
const COMMIT_BEFORE = 'd60ebb0b';
const BEFORE: House = {
  'lines of product': 70_898,
  'lines of tests': 132_630,
  'lines of YAML in deploy/': 21_377,
  'mutants by hand': 898,
  'folders of test/': 35,
  'npm scripts': 31,
  'words of docs/': 102_537,
};

export type House = Readonly<Record<string, number>>;

const isTesting = (file: string): boolean => /test\.ts$|\/testing(\/|\.ts$)/.test(file);
const isProduct = (file: string): boolean =>
  /^(agent|coordinator|shared|deploy)\/.*\.ts$/.test(file) && !isTesting(file);
const isTest = (file: string): boolean =>
  /test\.ts$|^test\/.*\.(ts|mjs|sh|uc|go|c)$|\/testing(\/|\.ts$)/.test(file);

/** @throws where `root` is no clone */
export const houseOf = (root: string): House => {
  const listed = spawnSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' });
  if (listed.status !== 0) throw new Error(`git cannot list the files: ${listed.stderr}`);
  const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');
  const files = listed.stdout
    .split('\0')
    .filter((file) => file !== '' && existsSync(path.join(root, file)));
  const count = (unit: RegExp, isCounted: (file: string) => boolean): number =>
    files
      .filter(isCounted)
      .reduce((total, file) => total + (read(file).match(unit)?.length ?? 0), 0);
  const beginnings = (pattern: RegExp): string[] =>
    files.flatMap((file) => pattern.exec(file)?.[0] ?? []);
  const { scripts } = z
    .object({ scripts: z.record(z.string(), z.string()) })
    .parse(JSON.parse(read('package.json')));
  return {
    'lines of product': count(/\n/g, isProduct),
    'lines of tests': count(/\n/g, isTest),
    'lines of YAML in deploy/': count(/\n/g, (file) => /^deploy\/.*\.ya?ml$/.test(file)),
    'mutants by hand':
      beginnings(/^test\/run\/mutants\/.*\.patch$/).length +
      count(/^ +- file:/gm, (file) => file === 'test/run/mutants/mutants.yaml'),
    'folders of test/': new Set(beginnings(/^test\/[^/]+\//)).size,
    'npm scripts': Object.keys(scripts).length,
    'words of docs/': count(/\S+/g, (file) => /^docs\/.*\.md$/.test(file)),
  };
};

export const houseLines = (now: House, before: House = BEFORE): string[] => {
  const line = (what: string, ...cells: readonly (number | string)[]): string =>
    what.padEnd(26) + cells.map((cell) => cell.toLocaleString('en').padStart(10)).join('');
  return [
    line('', COMMIT_BEFORE, 'now', 'change'),
    ...Object.entries(now).map(([what, count]) => {
      const then = before[what] ?? 0;
      return line(
        what,
        then,
        count,
        `${count > then ? '+' : ''}${(count - then).toLocaleString('en')}`,
      );
    }),
  ];
};
