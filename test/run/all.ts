/** `npm test`: everything that can fail and needs no root, cheapest first. */
import { runStages } from './stages.ts';

process.exitCode = await runStages([
  // Those of `npm run check`; its unit tests are a project here.
  { script: 'format:check' },
  { script: 'lint' },
  { script: 'types' },
  { script: 'generate:check' },
  { projects: [{ name: 'unit' }] },
  { projects: [{ name: 'contract' }] },
  { projects: [{ name: 'integration' }, { name: 'e2e' }, { name: 'e2e-outages' }] },
]);
