/**
 * `npm run suite stryker`: Stryker changes operators, conditions and texts of the pure core one at
 * a time, and the unit tests beside it must notice. It works in a copy of the tree, and lists what
 * survived.
 *
 *   npm run suite stryker [FOLDER…]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { Stryker } from '@stryker-mutator/core';
import { STRYKER } from './stryker-folders.ts';
import { TESTS_VARIABLE } from './vitest.config.ts';

/**
 * Beside what its tests take without it: they take milliseconds, and a mutant that ends no loop is
 * common where loops are.
 */
const PATIENCE_MS = 10_000;

const mutate = async (folder: string): Promise<void> => {
  const { tests = [], least } = STRYKER[folder] ?? {};
  process.env[TESTS_VARIABLE] = [folder, ...tests].join(' ');
  const sandbox = mkdtempSync(path.join(tmpdir(), 'sdewan-stryker-'));
  const remove = (): void => rmSync(sandbox, { recursive: true, force: true });
  process.once('exit', remove);
  const stryker = new Stryker({
    mutate: [`${folder}/**/*.ts`, '!**/*.test.ts', '!**/testing.ts'],
    // `a?.b` without the question mark is refused by the compiler of TypeScript already.
    mutator: { excludedMutations: ['OptionalChaining'] },
    testRunner: 'vitest',
    plugins: ['@stryker-mutator/vitest-runner'],
    vitest: { configFile: 'test/run/mutants/vitest.config.ts' },
    coverageAnalysis: 'perTest',
    // Stryker would rewrite tsconfig.json with an API that TypeScript 7 does not have. Nothing in
    // the copy reads it.
    tsconfigFile: 'none',
    timeoutMS: PATIENCE_MS,
    concurrency: availableParallelism(),
    reporters: ['progress-append-only', 'clear-text'],
    clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
    allowConsoleColors: false,
    // Sets the exit code where fewer percent are noticed.
    thresholds: { high: 100, low: 0, break: least ?? null },
    tempDirName: sandbox,
  });
  try {
    await stryker.runMutationTest();
  } finally {
    remove();
    process.off('exit', remove);
  }
};

const { positionals } = parseArgs({ allowPositionals: true, options: {} });
const folders = positionals.length > 0 ? positionals : Object.keys(STRYKER);
const unknown = folders.filter((folder) => !Object.hasOwn(STRYKER, folder));
if (unknown.length > 0)
  throw new Error(`${unknown.join(', ')}: there are ${Object.keys(STRYKER).join(', ')}`);
for (const folder of folders) await mutate(folder);
