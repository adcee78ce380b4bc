/**
 * Metrics and alarms as far as no program has to run; the others are in
 * test/integration/coordinator/metrics.test.ts and test/contract/agent.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Registry } from '#shared/metrics/prometheus.ts';
import { exposeSources } from '../../coordinator/exposed.ts';
import { agentMetrics, alerts, coordinatorMetrics } from '../../deploy/generate/metrics.ts';
import { holds, NOTHING_SCRAPED, readScrape } from '../openwrt/checks/prometheus.ts';

const NOW = 1_000_000;
const root = join(import.meta.dirname, '../..');
const RUNBOOKS = 'docs/runbooks.md';

describe('an alarm', () => {
  const names = [agentMetrics(), coordinatorMetrics()].flatMap((registry) =>
    registry.getMetricsAsArray().map(({ name }) => name),
  );

  it.each(alerts().map((alert) => [alert.alert, alert] as const))(
    '%s is about a metric that there is, and silent where nothing happens',
    (name, { expr }) => {
      expect(names.filter((metric) => expr.includes(metric))).toHaveLength(1);
      expect(holds(expr, [NOTHING_SCRAPED], NOW)).toBe(name === 'SdewanCoordinatorAbsent');
    },
  );
});

describe('the runbook of an alarm', () => {
  const sections = (page: string): string[] =>
    [...readFileSync(join(root, page), 'utf8').matchAll(/^## (.+)$/gm)].map(([, name = '']) => name);

  it.each(alerts().map((alert) => [alert.alert, alert] as const))(
    'is a section of its own for %s, which exists',
    (name, { annotations }) => {
      expect(annotations.runbook_url).toBe(`${RUNBOOKS}#${name.toLowerCase()}`);
      expect(sections(RUNBOOKS)).toContain(name);
    },
  );

  it('is about an alarm that there is', () => {
    expect(sections(RUNBOOKS).sort()).toEqual(alerts().map(({ alert }) => alert).sort());
  });

  it.each(alerts().map((alert) => [alert.alert, alert] as const))(
    'names in the texts of %s what the expression keeps of labels, and nothing else',
    (_name, { expr, annotations: { summary, description } }) => {
      const [, kept = ''] = /^sum by \((.+?)\)/.exec(expr) ?? [];
      const named = [...`${summary} ${description}`.matchAll(/\$labels\.(\w+)/g)].map(([, label]) => label);
      expect(new Set(named)).toEqual(new Set(kept.split(', ').filter(Boolean)));
    },
  );
});

it('follows the source of what is counted when it is read, and shows a CNF without rules with zero', async () => {
  const registry = new Registry();
  const cnf = { namespace: 'edge', purpose: 'cnf-1' };
  let left = 2;
  let leads = true;
  exposeSources(registry, {
    leads: () => leads,
    rules: () =>
      left > 0 ? [[{ ...cnf, kind: 'FirewallRule', state: 'in_sync' as const }, left]] : [],
    stalled: () => (left > 0 ? [[{ ...cnf, reason: 'InvalidSpec' }, left]] : []),
    pods: () => [[{ ...cnf, state: 'live' as const }, left]],
    ages: () => [[cnf, { outOfSync: left, removal: 2 * left, report: 3 * left }]],
    queued: () => left + 1,
    droppedEvents: () => left + 2,
  });
  const values = async () => {
    const { samples } = readScrape(await registry.metrics());
    return samples.map(({ name, labels, value }) => [
      name.replace('sdewan_coordinator_', ''),
      ...Object.values(labels),
      value,
    ]);
  };
  expect(await values()).toEqual([
    ['rules', 'edge', 'cnf-1', 'FirewallRule', 'in_sync', 2],
    ['stalled_rules', 'edge', 'cnf-1', 'InvalidSpec', 2],
    ['pods', 'edge', 'cnf-1', 'live', 2],
    ['oldest_out_of_sync_seconds', 'edge', 'cnf-1', 2],
    ['oldest_removal_seconds', 'edge', 'cnf-1', 4],
    ['oldest_report_seconds', 'edge', 'cnf-1', 6],
    ['leading', 1],
    ['queued_rules', 3],
    ['events_dropped_total', 4],
  ]);
  left = 0;
  expect(await values()).toEqual([
    ['rules', 'edge', 'cnf-1', 'FirewallRule', 'in_sync', 0],
    ['stalled_rules', 'edge', 'cnf-1', 'InvalidSpec', 0],
    ['pods', 'edge', 'cnf-1', 'live', 0],
    ['oldest_out_of_sync_seconds', 'edge', 'cnf-1', 0],
    ['oldest_removal_seconds', 'edge', 'cnf-1', 0],
    ['oldest_report_seconds', 'edge', 'cnf-1', 0],
    ['leading', 1],
    ['queued_rules', 1],
    ['events_dropped_total', 2],
  ]);
  leads = false;
  expect(await values()).toEqual([
    ['leading', 0],
    ['queued_rules', 1],
    ['events_dropped_total', 2],
  ]);
});
