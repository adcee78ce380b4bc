/** `npm run test:fleet`: roll-outs of CNFDeployments under traffic, on a control plane of their own. */
import { runStages } from './stages.ts';

process.exitCode = await runStages([{ projects: [{ name: 'fleet' }] }]);
