/**
 * The tables of docs/ that are made from the code. Each stands in a block of its page; all else
 * there is written by hand.
 */
import { settings } from '#shared/inject/annotations.ts';
import { agentEnvSchema } from '../../agent/env.ts';
import { coordinatorEnvSchema } from '../../coordinator/env.ts';
import { chartOf } from './chart/templates.ts';
import { envTable, tableOf } from './markdown.ts';
import {
  agentMetrics,
  alertTable,
  coordinatorMetrics,
  metricsTable,
  programMetrics,
} from './metrics.ts';

/** By page, and by the name of its block. */
export const pageTables = (): Readonly<Record<string, Readonly<Record<string, string>>>> => ({
  chart: {
    values: tableOf(
      ['Value', 'Default', 'Meaning'],
      chartOf().values.values.map(({ path, default: value, description }) => [
        `\`${path}\``,
        `\`${JSON.stringify(value)}\``,
        description,
      ]),
    ),
  },
  configuration: {
    'agent-environment': envTable(agentEnvSchema),
    annotations: tableOf(
      ['Annotation', 'Must be', 'Meaning'],
      Object.entries(settings).map(([name, { allowed, meaning }]) => [
        `\`sdewan.akraino.org/agent-${name}\``,
        allowed,
        meaning,
      ]),
    ),
    'coordinator-environment': envTable(coordinatorEnvSchema),
  },
  metrics: {
    'coordinator-metrics': metricsTable(coordinatorMetrics()),
    'agent-metrics': metricsTable(agentMetrics()),
    'program-metrics': metricsTable(programMetrics()),
    alarms: alertTable(),
  },
});
