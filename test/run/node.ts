/**
 * `npm run test:node`: the harness's tests of the real node, then the end-to-end suite on one with images built from the
 * Dockerfiles. Where no node can run it says why, and that is no failure; in CI, as root, packages that are missing are installed.
 * `--without-outages` leaves out the files in which the coordinator or the node fails: they wait a lot, and `npm test` has the most of
 * them on processes.
 */
import { parseArgs } from 'node:util';
import { whyNoNode } from 'kind-test-harness';
import { whyNoImages } from '../images/build.ts';
import { runStages } from './stages.ts';

const { values } = parseArgs({ options: { 'without-outages': { type: 'boolean' } } });
const reason = (await whyNoNode()) ?? (await whyNoImages());
if (reason === undefined) {
  const endToEnd = values['without-outages'] ? 'e2e-node' : 'e2e-node*';
  process.exitCode = await runStages({ checks: [], projects: [['node'], [endToEnd]] });
} else {
  console.log(`the tests on a real node did not run: ${reason}`);
  console.log('0 passed, 0 failed');
}
