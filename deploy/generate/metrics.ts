/** What both programs show to Prometheus, by the code that shows it, and deploy/alerts.yaml. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { parse } from 'yaml';
import { createClientCounter } from '#shared/kube/figures.ts';
import { createMetricsRegistry } from '#shared/metrics/registry.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { Registry } from '#shared/metrics/prometheus.ts';
import { createAgentMetrics } from '../../agent/metrics.ts';
import { exposeSources } from '../../coordinator/exposed.ts';
import { createRollOutMetrics } from '../../coordinator/controllers/fleet/metrics.ts';
import {
  createMetrics,
  createNeutronMetrics,
  createReviewMetrics,
  exposeExpiry,
} from '../../coordinator/metrics.ts';
import { createPolicyMetrics } from '../../coordinator/controllers/network-policy/metrics.ts';
import { createPortMetrics } from '../../coordinator/controllers/network-ports/metrics.ts';
import { tableOf } from './markdown.ts';

/** As Prometheus' operator reads it, as far as we use it. */
const alertsSchema = z.object({
  spec: z.object({
    groups: z.array(
      z.object({
        rules: z.array(
          z.object({
            alert: z.string(),
            expr: z.string(),
            for: z.string(),
            labels: z.object({ severity: z.enum(['warning', 'critical']) }),
            annotations: z.object({
              summary: z.string(),
              description: z.string(),
              runbook_url: z.string(),
            }),
          }),
        ),
      }),
    ),
  }),
});
export type Alert = z.infer<typeof alertsSchema>['spec']['groups'][number]['rules'][number];

export const alerts = (): Alert[] => {
  const text = readFileSync(join(import.meta.dirname, '../alerts.yaml'), 'utf8');
  return alertsSchema.parse(parse(text)).spec.groups.flatMap(({ rules }) => rules);
};

/** The registries are for these tables alone; Prometheus does not scrape them. */
const unread = (): never => {
  throw new Error('not to be scraped');
};

export const agentMetrics = (): Registry => {
  const registry = new Registry();
  createAgentMetrics(registry, {
    snapshot: unread,
    leftOvers: unread,
    isPaused: unread,
    denied: unread,
  });
  return registry;
};

export const coordinatorMetrics = (): Registry => {
  const registry = new Registry();
  createMetrics(registry);
  createReviewMetrics(registry);
  exposeExpiry(registry, unread);
  exposeSources(registry, {
    leads: unread,
    rules: unread,
    stalled: unread,
    ages: unread,
    pods: unread,
    queued: unread,
    droppedEvents: unread,
  });
  createNeutronMetrics(registry);
  createRollOutMetrics(registry, { leads: unread, clock: systemClock });
  createPolicyMetrics(registry);
  createPortMetrics(registry);
  return registry;
};

const named = z.object({ labelNames: z.array(z.string()).default([]) });

export const programMetrics = (): Registry => {
  const registry = createMetricsRegistry();
  createClientCounter(registry);
  return registry;
};

export const metricsTable = (registry: Registry): string =>
  tableOf(
    ['metric', 'meaning'],
    registry.getMetricsAsArray().map((metric) => {
      const { labelNames } = named.parse(metric);
      const labels = labelNames.length > 0 ? `{${labelNames.join(',')}}` : '';
      return [`\`${metric.name}${labels}\``, metric.help];
    }),
  );

export const alertTable = (): string =>
  tableOf(
    ['alarm', 'when', 'for', 'what to do'],
    alerts().map(({ alert, expr, for: time, annotations }) => [
      `[\`${alert}\`](${annotations.runbook_url.replace('docs/', '')})`,
      `\`${expr}\``,
      time,
      annotations.description,
    ]),
  );
