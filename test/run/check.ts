/**
 * `npm run check`, for the time between two edits: what can be said in three quarters of a minute, with a tenth of the random cases.
 * `npm test` runs all.
 */
import { STATIC_CHECKS } from './all.ts';
import { runStages, type Project } from './stages.ts';

/** They replay thousands of recordings, or start programs. */
const LONG = [
  'test/trace/corpus.test.ts',
  'test/walks/*.test.ts',
  'test/run/{ci,stages}.test.ts',
  'coordinator/cli/process.test.ts',
  'deploy/images/bundle.test.ts',
];

const unit: Project = { name: 'unit', exclude: LONG, env: { SDEWAN_TIMES: '0.1' } };

process.exitCode = await runStages([{ beside: [STATIC_CHECKS, [{ projects: [unit] }]] }]);
