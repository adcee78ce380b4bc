/**
 * `npm run test:node`: the harness's tests of the real node, then the end-to-end suite on one with images built from the
 * Dockerfiles. Where no node can run it is red and says why; in CI, as root, packages that are missing are installed.
 * `--without-outages` leaves out the files in which the coordinator or the node fails: they wait a lot, and `npm test` has the most of
 * them on processes.
 */
import { parseArgs } from 'node:util';
import { onRealNode } from './real-node.ts';
import { runStages } from './stages.ts';

const { values } = parseArgs({ options: { 'without-outages': { type: 'boolean' } } });
const endToEnd = values['without-outages'] ? 'e2e-node' : 'e2e-node*';
process.exitCode = await runStages(await onRealNode('npm run test:node', ['node', endToEnd]));
