/** Metrics and alarms, as Prometheus' own code judges them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import * as z from 'zod';
import type { Registry } from '#shared/metrics/prometheus.ts';
import {
  agentMetrics,
  coordinatorMetrics,
  programMetrics,
} from '../../../deploy/generate/metrics.ts';
import { buildPromlint, type Promlint } from './promlint.ts';

let promlint: Promlint;
beforeAll(async () => {
  promlint = await buildPromlint();
});

const metricSchema = z.object({ name: z.string(), help: z.string(), type: z.string() });

/** As in a scrape, with one sample each: the values of these registries are not collected. */
const textOf = (registry: Registry): string =>
  registry
    .getMetricsAsArray()
    .map((metric) => {
      const { name, help, type } = metricSchema.parse(metric);
      const samples =
        type === 'histogram'
          ? [`${name}_bucket{le="+Inf"} 0`, `${name}_sum 0`, `${name}_count 0`]
          : [`${name} 0`];
      return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...samples, ''].join('\n');
    })
    .join('');

/** That of prom-client, which boards for Node know by this name. */
const KNOWN = [
  'nodejs_active_resources_total: non-counter metrics should not have "_total" suffix',
];

describe('metrics', () => {
  it.each([
    ['the agent', agentMetrics, []],
    ['the coordinator', coordinatorMetrics, []],
    ['both', programMetrics, KNOWN],
  ])('have names and help as Prometheus wants them for %s', (_, metrics, known) => {
    const text = textOf(metrics());
    expect(text.length).toBeGreaterThan(1_000);
    expect(promlint('metrics', text)).toEqual(known);
  });

  it('are found when they are wrong', () => {
    const wrong = '# TYPE things_milliseconds counter\nthings_milliseconds 1\n';
    expect(promlint('metrics', wrong).join()).toMatch(/_total.*no help text.*base unit/);
  });
});

describe('alarms', () => {
  const file = join(import.meta.dirname, '../../../deploy/alerts.yaml');
  const { spec } = z
    .looseObject({ spec: z.looseObject({}) })
    .parse(parse(readFileSync(file, 'utf8')));
  const text = stringify(spec);

  it('are rules that Prometheus loads', () => {
    expect(promlint('rules', text)).toEqual([]);
  });

  it.each([
    ['expressions', text.replace('> 0', '> > 0'), 'could not parse expression'],
    ['templates', text.replace('{{ $labels.', '{{ $label.'), 'undefined variable "$label"'],
    ['durations', text.replace('for: 5m', 'for: soon'), 'not a valid duration string'],
  ])('are found with wrong %s', (_, wrong, words) => {
    expect(wrong).not.toBe(text);
    expect(promlint('rules', wrong).join()).toContain(words);
  });
});
