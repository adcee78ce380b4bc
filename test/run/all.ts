/** `npm test`: what needs no root, cheapest first. What waits for minutes is a command of its own: `npm run test:slow`. */
import { setup as bundlePrograms } from '../stack/programs.ts';
import { runStages } from './stages.ts';

const removePrograms = await bundlePrograms();
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
await removePrograms();
