/**
 * `npm run test:node`: the harness's tests of the real node, NetworkPolicies judged by this kernel, then the end-to-end suite on one with images built from the
 * Dockerfiles. Where no node can run it is red and says why; in CI, as root, packages that are missing are installed.
 * `--own`: of the end-to-end tests those that only a node can run (test/e2e-node); `npm test` and `npm run test:slow` have the others
 * on processes.
 */
import { parseArgs } from 'node:util';
import { NODE_ALONE, onRealNode } from './real-node.ts';
import { runStages } from './stages.ts';

const { values } = parseArgs({ options: { own: { type: 'boolean' } } });
const { harness, packets, endToEnd } = NODE_ALONE;
process.exitCode = await runStages(
  await onRealNode('npm run test:node', [
    harness,
    packets,
    values.own ? endToEnd : { name: 'e2e-node*' },
  ]),
);
