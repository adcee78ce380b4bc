/**
 * `npm run check`, for the time between two edits: what can be said without a control plane, with a tenth of the random cases. `npm test` tries
 * all of them, and walks.
 */
import { STATIC_CHECKS } from './all.ts';
import { runStages } from './stages.ts';

const unit = { name: 'unit', env: { SDEWAN_TIMES: '0.1' } };

process.exitCode = await runStages([{ beside: [STATIC_CHECKS, [{ projects: [unit] }]] }]);
