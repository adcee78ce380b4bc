/**
 * `npm run test:stryker`: Stryker changes operators, conditions and texts of the pure core one at a time, and the unit tests beside
 * it must notice. It works in a copy of the tree.
 *
 *   npm run test:stryker -- [FOLDER…]
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { Stryker } from '@stryker-mutator/core';
import { EQUIVALENT } from './equivalent.ts';
import { percentOf, scoreOf, type Score } from './operators.ts';
import { TESTS_VARIABLE } from './vitest.config.ts';

/** Percent of the mutants of each folder. */
const TARGET = 90;

/** Folders, and where the tests are that must guard them. */
const FOLDERS: Readonly<Record<string, readonly string[]>> = {
  'coordinator/verdict': ['coordinator/verdict'],
  'shared/uci': ['shared/uci'],
  'shared/compile': ['shared/compile', 'test/golden'],
  'agent/reconcile': ['agent/reconcile'],
};

/** Beside what its tests take without it: they take milliseconds, and a mutant that ends no loop is common where loops are. */
const PATIENCE_MS = 10_000;

const checkout = path.resolve(import.meta.dirname, '../..');
const say = (line: string): void => console.log(line);

const mutate = async (folder: string): Promise<Score> => {
  process.env[TESTS_VARIABLE] = FOLDERS[folder]?.join(' ');
  const sandbox = mkdtempSync(path.join(tmpdir(), 'sdewan-stryker-'));
  const remove = (): void => rmSync(sandbox, { recursive: true, force: true });
  process.once('exit', remove);
  const stryker = new Stryker({
    mutate: [`${folder}/**/*.ts`, '!**/*.test.ts', '!**/testing.ts'],
    testRunner: 'vitest',
    plugins: ['@stryker-mutator/vitest-runner'],
    vitest: { configFile: 'test/mutants/vitest.config.ts' },
    coverageAnalysis: 'perTest',
    // Stryker would rewrite tsconfig.json with an API that TypeScript 7 does not have. Nothing in the copy reads it.
    tsconfigFile: 'none',
    timeoutMS: PATIENCE_MS,
    concurrency: availableParallelism(),
    reporters: ['progress-append-only'],
    allowConsoleColors: false,
    tempDirName: sandbox,
  });
  try {
    const results = await stryker.runMutationTest();
    const relative = results.map((mutant) => ({
      ...mutant,
      fileName: path.relative(checkout, path.resolve(checkout, mutant.fileName)),
    }));
    const equivalents = EQUIVALENT.filter(({ file }) => path.dirname(file) === folder);
    return scoreOf(relative, equivalents, (file) =>
      readFileSync(path.join(checkout, file), 'utf8'),
    );
  } finally {
    remove();
    process.off('exit', remove);
  }
};

const { positionals } = parseArgs({ allowPositionals: true, options: {} });
const folders = positionals.length > 0 ? positionals : Object.keys(FOLDERS);
const unknown = folders.filter((folder) => FOLDERS[folder] === undefined);
if (unknown.length > 0)
  throw new Error(`${unknown.join(', ')}: there are ${Object.keys(FOLDERS).join(', ')}`);

const lines: string[] = [];
for (const folder of folders) {
  const score = await mutate(folder);
  for (const survivor of score.survivors) say(survivor);
  for (const entry of score.stale) say(`listed as equivalent, and is not: ${entry}`);
  const percent = percentOf(score);
  if (percent < TARGET || score.stale.length > 0) process.exitCode = 1;
  lines.push(
    `${folder.padEnd(24)} ${percent.toFixed(1)} % (${score.killed} of ${score.total} killed)`,
  );
}
for (const line of ['', ...lines]) say(line);
