/**
 * `npm run test:nightly`: what takes too long for every change. Random cases from another seed each night, a hundred times as many;
 * the tests that wait for minutes; and the mutants. `SDEWAN_SEED` repeats a night.
 */
import { randomInt } from 'node:crypto';
import { onRealNode } from './real-node.ts';
import { runStages, type Stage } from './stages.ts';

const LARGEST_SEED = 2 ** 31;
const TIMES = 100;
const NODE_PROJECTS = [{ name: 'node' }, { name: 'e2e-node*' }, { name: 'slow-e2e-node' }];

const seed = process.env['SDEWAN_SEED'] ?? String(randomInt(1, LARGEST_SEED));
process.env['SDEWAN_SEED'] = seed;
console.log(`SDEWAN_SEED=${seed}: every random case of this run comes from it`);

const isRoot = process.getuid?.() === 0;
const many = { SDEWAN_TIMES: String(TIMES) };
const stages: Stage[] = [
  { projects: [{ name: 'unit', env: many }] },
  { projects: [{ name: 'contract', env: many }] },
  { projects: [{ name: 'integration' }] },
  { projects: [{ name: 'guides' }] },
  { projects: [{ name: 'versions' }] },
  { projects: [{ name: 'load' }] },
  { projects: [{ name: 'harness' }] },
  { projects: [{ name: 'e2e' }] },
  { projects: [{ name: 'e2e-outages', env: many }] },
  ...(isRoot ? await onRealNode('the suite on a real node', NODE_PROJECTS) : []),
  { script: 'test:mutants' },
  { script: 'test:stryker' },
];
if (!isRoot) console.log('not root: the tests on a real node are left out');
process.exitCode = await runStages(stages);
