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
  {
    // Files of integration tests would meet on one control plane: they look at all namespaces, or change what is there once.
    projects: [
      { name: 'integration', shard: '1/2' },
      { name: 'integration', shard: '2/2' },
      { name: 'e2e' },
    ],
  },
]);
