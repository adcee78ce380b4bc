/**
 * Set up before each test file: fast-check's seed and number of cases, and the replay of what
 * fails.
 */
import * as fc from 'fast-check';
import { caseCount, SEED } from '#shared/runtime/testing.ts';
import { markReplay, PATH_VARIABLE } from './replay.ts';

const USUAL_CASES = 100;
const path = process.env[PATH_VARIABLE];

const report = (details: fc.RunDetails<unknown>): void => {
  if (!details.failed) return;
  const replay = markReplay(details.counterexamplePath ?? undefined);
  const message = fc.defaultReportMessage(details)?.replace('\n', () => `\nreplay: ${replay}\n`);
  throw new Error(message, { cause: details.errorInstance });
};

fc.configureGlobal({
  seed: SEED,
  numRuns: caseCount(USUAL_CASES),
  reporter: report,
  // It is the smallest counterexample already.
  ...(path === undefined ? {} : { path, endOnFailure: true }),
});
