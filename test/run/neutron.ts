/**
 * `npm run test:neutron`: policies as security groups of a real Neutron, which is installed once (a minute, half a gigabyte in the cache). Where it
 * cannot be had the command says why, and proves nothing; in CI that is a failure. `--share`: five of the cases.
 */
import { parseArgs } from 'node:util';
import { CASES_VARIABLE, SHARE } from '../neutron/share.ts';
import { whyNoNeutron } from '../neutron-harness/install.ts';
import { runStages, type Project } from './stages.ts';

const { values } = parseArgs({ options: { share: { type: 'boolean', default: false } } });
const share: Project = { name: 'neutron', env: { [CASES_VARIABLE]: SHARE.join() } };
const because = await whyNoNeutron();
if (because === undefined) {
  process.exitCode = await runStages([{ projects: [values.share ? share : { name: 'neutron*' }] }]);
} else if (process.env['CI'] === 'true') {
  process.exitCode = await runStages([{ cannotRun: 'npm run test:neutron', because }]);
} else {
  console.log(`No Neutron here: ${because}. Nothing is proven about it.`);
  console.log('0 passed, 0 failed');
}
