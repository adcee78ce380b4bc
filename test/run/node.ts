/**
 * `npm run test:node`: the harness's tests of the real node, then the end-to-end suite on one with images built from the
 * Dockerfiles. Where no node can run it is red and says why; in CI, as root, packages that are missing are installed.
 * `--own`: of the end-to-end tests those that only a node can run (test/e2e-node); `npm test` and `npm run test:outages` have the others
 * on processes.
 */
import { parseArgs } from 'node:util';
import { onRealNode } from './real-node.ts';
import { runStages } from './stages.ts';

const { values } = parseArgs({ options: { own: { type: 'boolean' } } });
const endToEnd = { name: 'e2e-node*', ...(values.own && { files: ['test/e2e-node/'] }) };
process.exitCode = await runStages(
  await onRealNode('npm run test:node', [{ name: 'node' }, endToEnd]),
);
