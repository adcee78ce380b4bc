/**
 * The 53 cases on a real Neutron: the product's security groups, by IPv4, IPv6 and SCTP, and the
 * verdict of OVN on the first packet between each pair of pods. `SDEWAN_NEUTRON_CASES=1,5,9`: only
 * these.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '#shared/runtime/clock.ts';
import { createNeutron, type Neutron } from '../../coordinator/neutron/neutron.ts';
import { startNeutron, type RunningNeutron } from './harness/neutron.ts';
import { CASES, deniedPairs, scenarioOf, type Step } from '../kernel/policy/cases.ts';
import type { Scenario } from '../kernel/policy/evaluator.ts';
import { bring } from './bring.ts';
import { createNetwork, inBothFamilies, type PodNetwork } from './network.ts';
import { CASES_VARIABLE } from './share.ts';

const CLUSTER = '0123abcd';
const START_MS = 400_000;

let running: RunningNeutron;
let neutron: Neutron;
let network: PodNetwork;
beforeAll(async () => {
  running = await startNeutron({ database: 'mariadb' });
  neutron = createNeutron({
    cloud: { path: running.cloudFile },
    clock: systemClock,
    count: () => undefined,
  });
  network = await createNetwork(running, CLUSTER);
}, START_MS);
afterAll(() => running.stop());

/**
 * Policies for blocks of either family, each of which leaves the other family to its twin: they
 * unite.
 */
const scenarioOfBoth = (step: Step): Scenario => {
  const [four, six] = [scenarioOf(step, 4), scenarioOf(step, 6)];
  return { ...four, policies: [...four.policies, ...six.policies] };
};

const asked = process.env[CASES_VARIABLE]?.split(',').map(Number);
const tried: number[] = [];
const chosen = CASES.filter(({ number }) => asked === undefined || asked.includes(number));

test.each(chosen)('$number: $title', async ({ number, steps }) => {
  for (const step of steps) {
    const { result, rest } = await bring(scenarioOfBoth(step), {
      neutron,
      network,
      cluster: CLUSTER,
    });
    expect([...result.refused]).toEqual([]);
    expect(rest).toEqual([]);
    for (const probe of step.probes)
      expect(await network.denied(probe)).toStrictEqual(inBothFamilies(deniedPairs(probe.denied)));
  }
  tried.push(number);
});

test('gives each of the 53 the verdicts of the table, or those that were asked for', () => {
  expect(tried).toEqual(asked ?? Array.from({ length: 53 }, (_, at) => at + 1));
});
