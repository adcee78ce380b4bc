import { beforeEach, expect, it } from 'vitest';
import { createManualClock, type ManualClock } from '#shared/runtime/testing/manual-clock.ts';
import { Registry } from '#shared/metrics/prometheus.ts';
import { createRollOutMetrics, type RollOutMetrics, type SeenRollOut } from './metrics.ts';

const KEY = 'edge/cnf-1';
const CURRENT: SeenRollOut = {
  namespace: 'edge',
  purpose: 'cnf-1',
  stage: 'Current',
  since: 0,
  serves: true,
};

let clock: ManualClock;
let registry: Registry;
let metrics: RollOutMetrics;
let leads: boolean;
beforeEach(() => {
  clock = createManualClock();
  registry = new Registry();
  leads = true;
  metrics = createRollOutMetrics(registry, { leads: () => leads, clock });
});

/** The lines of one figure, without their common beginning. */
const scrape = async (name: string): Promise<string[]> => {
  const lines = (await registry.metrics()).split('\n');
  const prefix = `sdewan_coordinator_${name}`;
  return lines
    .filter((line) => line.startsWith(`${prefix}{`) || line.startsWith(`${prefix} `))
    .map((line) => line.slice(prefix.length).trim());
};
const unserved = async (): Promise<number> =>
  Number((await scrape('rollout_unserved_seconds_total'))[0]);

it('shows in which stage each CNFDeployment is, and for how long', async () => {
  metrics.looked(KEY, { ...CURRENT, stage: 'Connected', since: -5_000 });
  clock.advance(2_000);
  expect(await scrape('rollout_stage')).toEqual([
    '{namespace="edge",purpose="cnf-1",stage="Connected"} 1',
  ]);
  expect(await scrape('rollout_stage_seconds')).toEqual(['{namespace="edge",purpose="cnf-1"} 7']);
  metrics.looked(KEY, CURRENT);
  expect((await scrape('rollout_stage')).toSorted()).toEqual([
    '{namespace="edge",purpose="cnf-1",stage="Connected"} 0',
    '{namespace="edge",purpose="cnf-1",stage="Current"} 1',
  ]);
  expect(await scrape('rollout_stage_seconds')).toEqual(['{namespace="edge",purpose="cnf-1"} 0']);
});

it('shows no stage of one that is gone, nor on a replica that does not lead', async () => {
  metrics.looked(KEY, CURRENT);
  leads = false;
  expect(await scrape('rollout_stage')).toEqual([]);
  leads = true;
  metrics.gone(KEY);
  expect(await scrape('rollout_stage')).toEqual([]);
});

it('counts the time in which nothing serves, also while it lasts', async () => {
  metrics.looked(KEY, CURRENT);
  metrics.looked(KEY, { ...CURRENT, serves: false });
  clock.advance(2_000);
  expect(await unserved()).toBe(2);
  clock.advance(1_000);
  metrics.looked(KEY, { ...CURRENT, serves: false });
  clock.advance(1_000);
  metrics.looked(KEY, CURRENT);
  clock.advance(60_000);
  expect(await unserved()).toBe(4);
});

it('counts nothing before the first pods serve, and of no other term', async () => {
  metrics.looked(KEY, { ...CURRENT, stage: 'Creating', serves: false });
  clock.advance(60_000);
  metrics.looked(KEY, CURRENT);
  metrics.looked(KEY, { ...CURRENT, serves: false });
  metrics.begin();
  clock.advance(60_000);
  metrics.looked(KEY, { ...CURRENT, serves: false });
  clock.advance(60_000);
  expect(await unserved()).toBe(0);
});

it('counts sets that were given up', async () => {
  metrics.failed();
  expect(await scrape('rollouts_failed_total')).toEqual(['1']);
});
