/** What is made for Prometheus' operator and for Grafana names what there is. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import * as z from 'zod';
import { METRICS_PORT_NAME } from '#shared/inject/environment.ts';
import { AGENT_CONTAINER, PURPOSE_LABEL } from '#shared/names.ts';
import { agentMetrics, coordinatorMetrics, programMetrics } from '../../deploy/generate/metrics.ts';

const deploy = join(import.meta.dirname, '../../deploy');
const read = (name: string): string => readFileSync(join(deploy, name), 'utf8');

const endpoint = z.object({
  port: z.string(),
  relabelings: z.array(z.object({ regex: z.string().optional() })).default([]),
});
const monitor = z.object({
  metadata: z.object({ name: z.string() }),
  spec: z.object({
    selector: z.object({
      matchLabels: z.record(z.string(), z.string()).default({}),
      matchExpressions: z.array(z.object({ key: z.string() })).default([]),
    }),
    podMetricsEndpoints: z.array(endpoint),
  }),
});
const monitors = new Map(
  parseAllDocuments(read('monitors.yaml'))
    .map((document) => monitor.parse(document.toJS()))
    .map(({ metadata, spec }) => [metadata.name, spec]),
);

describe('a PodMonitor', () => {
  it('selects the pods of the coordinator, by a port that they have', () => {
    const { spec } = z
      .object({
        spec: z.object({
          template: z.object({
            metadata: z.object({ labels: z.record(z.string(), z.string()) }),
            spec: z.object({
              containers: z.array(z.object({ ports: z.array(z.object({ name: z.string() })) })),
            }),
          }),
        }),
      })
      .parse(parse(read('coordinator/deployment.yaml')));
    const { selector, podMetricsEndpoints } = monitors.get('sdewan-coordinator') ?? {};
    expect(spec.template.metadata.labels).toMatchObject(selector?.matchLabels ?? { no: 'selector' });
    const ports = spec.template.spec.containers.flatMap((one) => one.ports.map(({ name }) => name));
    expect(ports).toContain(podMetricsEndpoints?.[0]?.port);
  });

  it('selects CNFs, by the port of the injected container', () => {
    const { selector, podMetricsEndpoints } = monitors.get('sdewan-agent') ?? {};
    expect(selector?.matchExpressions).toEqual([{ key: PURPOSE_LABEL }]);
    expect(podMetricsEndpoints?.[0]?.port).toBe(METRICS_PORT_NAME);
    expect(podMetricsEndpoints?.[0]?.relabelings[0]?.regex).toBe(AGENT_CONTAINER);
  });
});

it('shows in each panel of the board a metric that there is, with labels that it has', () => {
  const board = z
    .object({
      panels: z.array(
        z.object({
          id: z.number(),
          title: z.string(),
          targets: z.array(z.object({ expr: z.string(), legendFormat: z.string() })),
        }),
      ),
    })
    .parse(JSON.parse(read('grafana-board.json')));
  const metrics = [agentMetrics(), coordinatorMetrics(), programMetrics()].flatMap((registry) =>
    registry
      .getMetricsAsArray()
      .map((metric) => ({ name: metric.name, labels: labelsOf(metric) })),
  );
  expect(new Set(board.panels.map(({ id }) => id)).size).toBe(board.panels.length);
  for (const { title, targets } of board.panels)
    for (const { expr, legendFormat } of targets) {
      const names = new Set(
        [...expr.matchAll(/\bsdewan_\w+/g)].map(([name]) => name.replace(/_bucket$/, '')),
      );
      const shown = metrics.filter(({ name }) => names.has(name));
      expect([title, shown.length]).toEqual([title, 1]);
      const [, kept = ''] = /by \((.+?)\)/.exec(expr) ?? [];
      const used = [
        ...kept.split(', ').filter((label) => label !== 'le'),
        ...[...expr.matchAll(/(\w+)=~?"/g)].map(([, label = '']) => label),
        ...[...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label),
      ].filter(Boolean);
      expect([title, shown[0]?.labels]).toEqual([title, expect.arrayContaining(used)]);
    }
});

const labelsOf = (metric: unknown): string[] =>
  z.object({ labelNames: z.array(z.string()).default([]) }).parse(metric).labelNames;
