/** `npm run test:outages`: the end-to-end tests in which programs of the product or what it stands on fail. They wait more than they compute. */
import { runStages } from './stages.ts';

process.exitCode = await runStages([{ projects: [{ name: 'e2e-outages' }] }]);
