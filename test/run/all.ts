/** `npm test`: everything that can fail and needs no root, cheapest first. */
import { runStages } from './stages.ts';

process.exitCode = await runStages({
  // Those of `npm run check`; its unit tests are a project here.
  checks: ['format:check', 'lint', 'types', 'generate:check'],
  projects: [['unit'], ['contract'], ['integration', 'e2e']],
});
