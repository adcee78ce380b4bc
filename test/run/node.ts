/**
 * `npm run test:node`: the harness's tests of the real node, then the end-to-end suite on one with images built from the
 * Dockerfiles. Where no node can run it says why, and that is no failure; in CI, as root, packages that are missing are installed.
 */
import { whyNoNode } from 'kind-test-harness';
import { whyNoImages } from '../images/build.ts';
import { runStages } from './stages.ts';

const reason = (await whyNoNode()) ?? (await whyNoImages());
if (reason === undefined) {
  process.exitCode = runStages({ checks: [], projects: ['node', 'e2e-node*'] });
} else {
  console.log(`the tests on a real node did not run: ${reason}`);
}
