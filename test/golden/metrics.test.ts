/** Metrics and alarms as far as no program has to run; the others are in test/integration/coordinator/metrics.test.ts and test/contract/agent. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Registry } from '#shared/runtime/prometheus.ts';
import { exposeSources } from '../../coordinator/exposed.ts';
import { createMetrics, createReviewMetrics, exposeExpiry } from '../../coordinator/metrics.ts';
import { agentMetrics, alerts, coordinatorMetrics } from '../../deploy/generate/metrics-page.ts';
import { holds, NOTHING_SCRAPED, readScrape, valueIn } from '../judge/prometheus.ts';

const NOW = 1_000_000;
const DAY = 86_400;
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

it('a review that fails is an alarm, and one that is denied is none', async () => {
  const registry = new Registry();
  const count = createReviewMetrics(registry);
  const { expr = '' } = alerts().find(({ alert }) => alert === 'SdewanWebhookFailing') ?? {};
  const scrape = async () => readScrape(await registry.metrics());
  count('rules', 'denied', 1);
  count('rules', 'failed', 1);
  const before = await scrape();
  count('rules', 'denied', 1);
  const denied = await scrape();
  count('rules', 'failed', 1);
  const failed = await scrape();
  expect(holds(expr, [before, denied], NOW)).toBe(false);
  expect(holds(expr, [before, denied, failed], NOW)).toBe(true);
  expect(holds(expr, [failed, failed], NOW)).toBe(false);
});

it('drift that returns is an alarm of its CNF, a few repairs are none', async () => {
  const registry = new Registry();
  const { drifted } = createMetrics(registry);
  const { expr = '' } = alerts().find(({ alert }) => alert === 'SdewanDrift') ?? {};
  const scrape = async () => readScrape(await registry.metrics());
  drifted({ namespace: 'edge', purpose: 'cnf-1' }, 1);
  const before = await scrape();
  drifted({ namespace: 'edge', purpose: 'cnf-1' }, 3);
  expect(holds(expr, [before, await scrape()], NOW)).toBe(false);
  drifted({ namespace: 'edge', purpose: 'cnf-1' }, 1);
  expect(holds(expr, [before, await scrape()], NOW)).toBe(true);
});

it.each([
  ['SdewanRuleStalled', { stalled: 1, unreachable: 0 }],
  ['SdewanOpenwrtUnreachable', { stalled: 0, unreachable: 1 }],
])('%s fires for its cause alone, and no longer than that', async (name, cause) => {
  const registry = new Registry();
  const cnf = { namespace: 'edge', purpose: 'cnf-1' };
  let now = { stalled: 0, unreachable: 0 };
  exposeSources(registry, {
    leads: () => true,
    rules: () => [],
    stalled: () => [[{ ...cnf, reason: 'InvalidSpec' }, now.stalled]],
    pods: () => [[{ ...cnf, state: 'unreachable' as const }, now.unreachable]],
    ages: () => [],
    queued: () => 0,
    droppedEvents: () => 0,
  });
  const firing = async () => {
    const scrape = readScrape(await registry.metrics());
    return alerts()
      .filter(({ expr }) => holds(expr, [scrape], 0))
      .map(({ alert }) => alert);
  };
  expect(await firing()).toEqual([]);
  now = cause;
  expect(await firing()).toEqual([name]);
  now = { stalled: 0, unreachable: 0 };
  expect(await firing()).toEqual([]);
});

describe('the runbook of an alarm', () => {
  const sections = (page: string): string[] =>
    [...readFileSync(join(root, page), 'utf8').matchAll(/^## (.+)$/gm)].map(([, name = '']) => name);

  it.each(alerts().map((alert) => [alert.alert, alert] as const))(
    'of %s is a section of its own, which exists',
    (name, { annotations }) => {
      expect(annotations.runbook_url).toBe(`${RUNBOOKS}#${name.toLowerCase()}`);
      expect(sections(RUNBOOKS)).toContain(name);
    },
  );

  it('is about an alarm that there is', () => {
    expect(sections(RUNBOOKS).sort()).toEqual(alerts().map(({ alert }) => alert).sort());
  });

  it.each(alerts().map((alert) => [alert.alert, alert] as const))(
    'the texts of %s name what the expression keeps of labels, and nothing else',
    (_name, { expr, annotations: { summary, description } }) => {
      const [, kept = ''] = /^sum by \((.+?)\)/.exec(expr) ?? [];
      const named = [...`${summary} ${description}`.matchAll(/\$labels\.(\w+)/g)].map(([, label]) => label);
      expect(new Set(named)).toEqual(new Set(kept.split(', ').filter(Boolean)));
    },
  );
});

it('a certificate that ends within three days is an alarm', async () => {
  const registry = new Registry();
  const endsAt = 2_000_000_000;
  exposeExpiry(registry, () => endsAt * 1_000);
  const scrape = readScrape(await registry.metrics());
  const { expr = '' } = alerts().find(({ alert }) => alert === 'SdewanCertificateEnds') ?? {};
  expect(valueIn(scrape, 'sdewan_coordinator_certificate_expiry_timestamp_seconds')).toBe(endsAt);
  expect(holds(expr, [scrape], endsAt - 3 * DAY)).toBe(false);
  expect(holds(expr, [scrape], endsAt - 3 * DAY + 1)).toBe(true);
});

it('what is counted when it is read follows its source, and a CNF without rules is shown with zero', async () => {
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
