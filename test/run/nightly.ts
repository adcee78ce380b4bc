/**
 * `npm run suite nightly`: what takes too long for every change. Random cases from another seed
 * each night, a hundred times as many; the tests that wait for minutes; and the mutants.
 * `SDEWAN_SEED` repeats a night. The whole takes longer than many machines are there for, so that
 * parts of it can be named.
 *
 *   npm run suite nightly [PART…]
 */
import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { ROWS_VARIABLE } from '../faults/choice.ts';
import { whyNoNeutron } from '../neutron/harness/install.ts';
import { onRealNode } from './real-node.ts';
import { runStages, type Project, type Stage } from './stages.ts';
import { traced } from './traced.ts';

const LARGEST_SEED = 2 ** 31;
const MANY = { SDEWAN_TIMES: '100' };
const isRoot = process.getuid?.() === 0;

type Part = {
  /** Arguments of vitest. */
  projects: readonly Project[];
  /** Absent: its projects, one after the other. */
  stages?: () => Stage[] | Promise<Stage[]>;
};

const one = (name: string, env: Project['env'] = {}): Part => ({ projects: [{ name, env }] });
const NODE_PROJECTS = [{ name: 'node' }, { name: 'e2e-node*' }, { name: 'slow-e2e-node' }];

/** In their order, by the names that the command takes. */
export const PARTS: Readonly<Record<string, Part>> = {
  unit: one('unit', MANY),
  contract: one('contract', MANY),
  libuci: {
    projects: [{ name: 'libuci', env: MANY }],
    stages: () => {
      const missing = ['cargo', 'cmake'].filter((name) => spawnSync(name, ['--version']).error);
      const because = `it needs ${missing.join(' and ')}`;
      return missing.length > 0
        ? [{ cannotRun: 'libuci', because }]
        : [{ projects: [{ name: 'libuci', env: MANY }] }];
    },
  },
  integration: one('integration', { SDEWAN_PORT_KILLS: '20' }),
  guides: one('guides'),
  load: one('load', { SDEWAN_FLIP_RULES: '1000' }),
  harness: one('harness'),
  neutron: {
    projects: [{ name: 'neutron*' }],
    stages: async () => {
      const because = await whyNoNeutron();
      return because === undefined
        ? [{ projects: [{ name: 'neutron*' }] }]
        : [{ cannotRun: 'neutron', because }];
    },
  },
  e2e: one('e2e'),
  users: one('users', { SDEWAN_WATCHED_SECONDS: '1800' }),
  fleet: {
    projects: [
      { name: 'fleet', env: { SDEWAN_TIMES: '50' } },
      { name: 'fleet-night', env: { SDEWAN_TIMES: '10' } },
    ],
  },
  'e2e-outages': one('e2e-outages', MANY),
  soak: one('soak'),
  trace: { projects: [{ name: 'trace' }], stages: () => traced(5_000) },
  faults: one('faults', { [ROWS_VARIABLE]: 'night' }),
  ...(isRoot && {
    node: {
      projects: NODE_PROJECTS,
      stages: () => onRealNode('the suite on a real node', NODE_PROJECTS),
    },
  }),
  mutants: { projects: [], stages: () => [{ script: 'suite mutants' }] },
  stryker: { projects: [], stages: () => [{ script: 'suite stryker' }] },
};

const stagesOf = async ({ projects, stages }: Part): Promise<Stage[]> =>
  stages ? await stages() : projects.map((each) => ({ projects: [each] }));

const main = async (): Promise<number> => {
  const seed = process.env['SDEWAN_SEED'] ?? String(randomInt(1, LARGEST_SEED));
  process.env['SDEWAN_SEED'] = seed;
  console.log(`SDEWAN_SEED=${seed}: every random case of this run comes from it`);
  if (!isRoot) console.log('not root: the tests on a real node are left out');
  const { positionals } = parseArgs({ allowPositionals: true, options: {} });
  const stages: Stage[] = [];
  for (const name of positionals.length > 0 ? positionals : Object.keys(PARTS)) {
    const part = PARTS[name];
    if (!part) throw new Error(`no part is called ${name}: ${Object.keys(PARTS).join(', ')}`);
    stages.push(...(await stagesOf(part)));
  }
  return runStages(stages);
};

if (import.meta.main) process.exitCode = await main();
