/** `npm test`: what needs no root, cheapest first. Outages wait for minutes, and are a command of their own: `npm run test:outages`. */
import { runStages } from './stages.ts';

process.exitCode = await runStages([
  // Those of `npm run check`; its unit tests are a project here.
  { script: 'format:check' },
  { script: 'lint' },
  { script: 'types' },
  { script: 'generate:check' },
  { projects: [{ name: 'unit' }] },
  { projects: [{ name: 'contract' }] },
  { projects: [{ name: 'integration' }, { name: 'e2e' }] },
]);
