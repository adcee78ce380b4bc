/**
 * `npm run check`, for the time between two edits: what can be said in three quarters of a minute,
 * with a tenth of the random cases. `npm test` runs all.
 */
import { STATIC_CHECKS } from './all.ts';
import { runStages } from './stages.ts';

const env = { SDEWAN_TIMES: '0.1', SDEWAN_UNIT_TESTS: 'short' };

process.exitCode = await runStages([
  { beside: [STATIC_CHECKS, [{ projects: [{ name: 'unit', env }] }]] },
]);
