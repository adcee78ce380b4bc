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
  {
    // Files of integration tests would meet on one control plane: they look at all namespaces, or change what is there once.
    projects: [
      { name: 'integration', shard: '1/2' },
      { name: 'integration', shard: '2/2' },
      { name: 'e2e' },
    ],
  },
]);
await removePrograms();
