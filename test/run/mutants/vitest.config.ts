/**
 * For Stryker: the unit tests of one folder. It runs them thousands of times, so no other file may
 * be loaded.
 */
import { defineConfig } from 'vitest/config';

/** Folders with tests, separated by spaces. */
export const TESTS_VARIABLE = 'SDEWAN_MUTANT_TESTS';

const folders = (process.env[TESTS_VARIABLE] ?? '{agent,coordinator,shared}/**').split(' ');

export default defineConfig({
  test: {
    root: `${import.meta.dirname}/../../..`,
    include: folders.map((folder) => `${folder}/*.test.ts`),
    // Each mutant that survives tries all cases. With a fifth of them a folder takes a quarter of
    // the time, and as much is noticed.
    env: { SDEWAN_TIMES: '0.2' },
    setupFiles: ['test/run/properties.ts', 'test/run/mutants/no-shrinking.ts'],
    isolate: false,
    testTimeout: 30_000,
  },
});
