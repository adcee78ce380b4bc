/**
 * `npm run test:slow`: what waits for minutes. The end-to-end tests in which programs of the product or what it stands on fail, the
 * guides for developers, followed in a copy of the project, the way to another version and back, the commit's share of the fault table and
 * of attacks by sheer size; where the kernel can judge traces, 500 packets and 20 firewalls. `--node` (root on Linux): with the tests that only a real node can run.
 */
import { parseArgs } from 'node:util';
import { shareOfFaults, shareOfLoad } from './commit-share.ts';
import { NODE_ALONE, whyNoRealNode } from './real-node.ts';
import { inParts, runStages, type Stage } from './stages.ts';
import { traced } from './traced.ts';

/** They wait for minutes, each part on a cluster of its own. */
const OUTAGES = inParts({ name: 'e2e-outages' }, 2);
const GUIDES = { name: 'guides' };
const VERSIONS = { name: 'versions' };
const LOAD = shareOfLoad();
const FAULTS = shareOfFaults();

const { values } = parseArgs({ options: { node: { type: 'boolean', default: false } } });

/** What measures has the machine for itself. */
const slow: Stage[] = [
  { projects: [...OUTAGES, GUIDES] },
  { projects: [VERSIONS] },
  { projects: [FAULTS] },
  { projects: [LOAD] },
];

const withNode = async (): Promise<Stage[]> => {
  const because = await whyNoRealNode();
  if (because !== undefined) return [...slow, { cannotRun: 'the tests of a real node', because }];
  const { harness, packets, endToEnd } = NODE_ALONE;
  return [
    { projects: [...OUTAGES, endToEnd] },
    { projects: [GUIDES, VERSIONS, harness, packets] },
    { projects: [FAULTS] },
    { projects: [LOAD] },
  ];
};

process.exitCode = await runStages([...(values.node ? await withNode() : slow), ...traced(500)]);
