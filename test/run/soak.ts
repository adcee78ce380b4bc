/** `npm run suite -- soak [--minutes 30]`: the soak, and its result into docs/reliability.md. */
import { parseArgs } from 'node:util';
import { SOAK_VARIABLE } from '../faults/soak-results.ts';
import { runStages } from './stages.ts';

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '30' } } });
const env = { SDEWAN_SOAK_MINUTES: values.minutes, [SOAK_VARIABLE]: 'write' };
process.exitCode = await runStages([{ projects: [{ name: 'soak', env }] }]);
