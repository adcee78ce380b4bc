/**
 * `npm run test:nightly`: what takes too long for every change. Random cases from another seed each night, a hundred times as many;
 * the tests that wait for minutes; and the mutants. `SDEWAN_SEED` repeats a night. The whole takes longer than many machines are there for, so
 * that parts of it can be named.
 *
 *   npm run test:nightly -- [PART…]
 */
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { ROWS_VARIABLE } from '../faults/choice.ts';
import { whyNoNeutron } from '../neutron-harness/install.ts';
import { onRealNode } from './real-node.ts';
import { runStages, type Project, type Stage } from './stages.ts';
import { traced } from './traced.ts';

const LARGEST_SEED = 2 ** 31;
const TIMES = 100;
const NODE_PROJECTS = [{ name: 'node' }, { name: 'e2e-node*' }, { name: 'slow-e2e-node' }];

const seed = process.env['SDEWAN_SEED'] ?? String(randomInt(1, LARGEST_SEED));
process.env['SDEWAN_SEED'] = seed;
console.log(`SDEWAN_SEED=${seed}: every random case of this run comes from it`);

const isRoot = process.getuid?.() === 0;
const many = { SDEWAN_TIMES: String(TIMES) };
const one = (name: string, env?: Project['env']): Stage[] => [
  { projects: [{ name, ...(env && { env }) }] },
];
/** In their order, by the names that the command takes. */
const parts: Readonly<Record<string, () => Stage[] | Promise<Stage[]>>> = {
  unit: () => one('unit', many),
  contract: () => one('contract', many),
  integration: () => one('integration'),
  guides: () => one('guides'),
  versions: () => one('versions'),
  load: () => one('load', { SDEWAN_FLIP_RULES: '1000' }),
  harness: () => one('harness'),
  neutron: async () => {
    const because = await whyNoNeutron();
    return because === undefined ? one('neutron*') : [{ cannotRun: 'neutron', because }];
  },
  e2e: () => one('e2e'),
  people: () => one('people', { SDEWAN_WATCHED_SECONDS: '1800' }),
  fleet: () => [
    ...one('fleet', { SDEWAN_TIMES: '50' }),
    ...one('fleet-night', { SDEWAN_TIMES: '10' }),
  ],
  'e2e-outages': () => one('e2e-outages', many),
  soak: () => one('soak'),
  trace: () => traced(5_000),
  faults: () => one('faults', { [ROWS_VARIABLE]: 'night' }),
  ...(isRoot && { node: () => onRealNode('the suite on a real node', NODE_PROJECTS) }),
  mutants: () => [{ script: 'test:mutants' }],
  stryker: () => [{ script: 'test:stryker' }],
};
if (!isRoot) console.log('not root: the tests on a real node are left out');

const { positionals } = parseArgs({ allowPositionals: true, options: {} });
const names = positionals.length > 0 ? positionals : Object.keys(parts);
const unknown = names.filter((name) => !Object.hasOwn(parts, name));
if (unknown.length > 0)
  throw new Error(
    `no part is called ${unknown.join(', ')}: there are ${Object.keys(parts).join(', ')}`,
  );
const stages: Stage[] = [];
for (const name of names) stages.push(...((await parts[name]?.()) ?? []));
process.exitCode = await runStages(stages);
