/**
 * The tables of docs/ that are made from the code. Each stands in a block of its page; all else
 * there is written by hand.
 */
import { settings as annotationSettings } from '#shared/inject/annotations.ts';
import { agentEnvSchema } from '../../agent/env.ts';
import { coordinatorEnvSchema } from '../../coordinator/env.ts';
import { settings } from './chart/env-values.ts';
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
  chart: { values: valuesTable() },
  configuration: {
    'agent-environment': envTable(agentEnvSchema),
    annotations: tableOf(
      ['Annotation', 'Must be', 'Meaning'],
      Object.entries(annotationSettings).map(([name, { allowed, meaning }]) => [
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

/** What a variable means stands on the page of configuration, once. */
const valuesTable = (): string => {
  const variables = new Map(settings().map(({ value, variable }) => [value.path, variable]));
  return tableOf(
    ['Value', 'Default', 'Meaning'],
    chartOf().values.values.map(({ path, default: value, description }) => {
      const variable = variables.get(path);
      const meaning = variable === undefined ? description : `\`${variable}\``;
      return [`\`${path}\``, `\`${JSON.stringify(value)}\``, meaning];
    }),
  );
};
