import { expect, it } from 'vitest';
import type { Registry } from '#shared/metrics/prometheus.ts';
import { createClientCounter } from '#shared/kube/figures.ts';
import { createMetricsRegistry } from '#shared/metrics/registry.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { resources } from '#shared/resources/resources.ts';
import { kinds } from '#shared/resources/registry.ts';
import { exposeSources } from './exposed.ts';
import { createRollOutMetrics } from './controllers/fleet/metrics.ts';
import { createMetrics, createReviewMetrics, exposeExpiry } from './metrics.ts';
import type { CnfLabels } from './controllers/rules/cnf-counts.ts';

const samplesOf = async (registry: Registry): Promise<string[]> =>
  (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));

/** All that a coordinator shows, after a bit of everything, of CNFs with that many kinds. */
const scrapeOf = async (cnfs: number, kindsOfEach: number): Promise<string[]> => {
  const registry = createMetricsRegistry();
  const counted = createClientCounter(registry);
  const all: CnfLabels[] = Array.from({ length: cnfs }, (_, at) => ({
    namespace: `namespace-${at % 7}`,
    purpose: `cnf-${at}`,
  }));
  const metrics = createMetrics(registry);
  for (const cnf of all) metrics.drifted(cnf, 1);
  for (const name of Array.from({ length: 12 }, (_, at) => `controller-${at}`)) {
    metrics.exposeQueue(
      name,
      () => 0,
      () => 0,
    );
    for (const result of ['done', 'again', 'conflict', 'error'])
      metrics.reconciled(name, result, 1);
  }
  const review = createReviewMetrics(registry);
  for (const webhook of Array.from({ length: 7 }, (_, at) => `webhook-${at}`))
    for (const result of ['allowed', 'warned', 'denied', 'malformed', 'failed'])
      review(webhook, result, 1);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only told of watches
  const client = counted({} as Parameters<typeof counted>[0]);
  for (const { plural } of resources) client.onWatchState?.({}, plural, 'Synced');
  exposeExpiry(registry, () => 0);
  const rollOuts = createRollOutMetrics(registry, { leads: () => true, clock: systemClock });
  for (const cnf of all)
    rollOuts.looked(`${cnf.namespace}/${cnf.purpose}`, {
      ...cnf,
      stage: 'Staged',
      since: Date.now() - 60_000,
      serves: true,
    });
  exposeSources(registry, {
    leads: () => true,
    rules: () =>
      all.flatMap((cnf) =>
        kinds
          .slice(0, kindsOfEach)
          .flatMap(({ kind }) =>
            (['in_sync', 'out_of_sync', 'removing'] as const).map(
              (state) => [{ ...cnf, kind, state }, 10] as const,
            ),
          ),
      ),
    stalled: () =>
      all.flatMap((cnf) =>
        ['InvalidSpec', 'RefusedByOpenwrt'].map((reason) => [{ ...cnf, reason }, 1] as const),
      ),
    pods: () =>
      all.flatMap((cnf) =>
        (['live', 'without_agent', 'silent', 'unreachable'] as const).map(
          (state) => [{ ...cnf, state }, 1] as const,
        ),
      ),
    ages: () => all.map((cnf) => [cnf, { outOfSync: 1, removal: 1, report: 1 }]),
    queued: () => 0,
    droppedEvents: () => 0,
  });
  return samplesOf(registry);
};

it('10,000 rules in 100 CNFs are fewer than 5,000 series, and each CNF has its own', async () => {
  const samples = await scrapeOf(100, 10);
  expect(samples.length).toBeLessThan(5_000);
  expect(samples.filter((line) => line.includes('purpose="other"'))).toEqual([]);
});

it('however many CNFs there are, and kinds of rules in each, there are no more series', async () => {
  const samples = await scrapeOf(1_000, kinds.length);
  expect(samples.length).toBeLessThan(5_000);
  const others = samples.filter((line) => line.includes('purpose="other"'));
  expect(new Set(others.map((line) => line.replace(/\{.*/, '')))).toEqual(
    new Set(
      [
        'rules',
        'stalled_rules',
        'pods',
        'drift_repairs_total',
        'oldest_out_of_sync_seconds',
        'oldest_removal_seconds',
        'oldest_report_seconds',
        'rollout_stage',
        'rollout_stage_seconds',
      ].map((name) => `sdewan_coordinator_${name}`),
    ),
  );
  // Not the sums of their ages.
  const valueOf = (name: string): number =>
    Number(
      others
        .find((line) => line.includes(name))
        ?.split(' ')
        .at(-1),
    );
  expect(valueOf('oldest_report_seconds')).toBe(1);
  expect(valueOf('rollout_stage_seconds')).toBeLessThan(600);
});
