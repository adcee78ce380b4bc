/** What the coordinator counts. Labels are bounded: kinds, results and codes, never names. */
import { Counter, Gauge, Histogram, type Registry } from '#shared/runtime/prometheus.ts';

export type Metrics = {
  /** `result`: what came of a report, or why it was refused. */
  reports: Counter<'result'>;
  tokenReviews: Counter<'result'>;
  statusWrites: Counter<'result'>;
  finalizersRemoved: Counter;
  /** From the deletion of a rule to the removal of our finalizer. */
  removalSeconds: Histogram;
};

export type MetricsSources = {
  /** Rules by what their status says. */
  rules: () => Iterable<readonly [{ kind: string; state: string }, number]>;
  pods: () => { live: number; withoutAgent: number; silent: number };
  queued: () => number;
  droppedEvents: () => number;
};

export const createMetrics = (registry: Registry): Metrics => {
  const registers = [registry];
  const counter = <L extends string>(name: string, help: string, labelNames: L[]): Counter<L> =>
    new Counter({ name: `sdewan_coordinator_${name}`, help, labelNames, registers });
  return {
    reports: counter('reports_total', 'Reports of agents, by what came of them.', ['result']),
    tokenReviews: counter('token_reviews_total', 'Tokens that the API server was asked about.', [
      'result',
    ]),
    statusWrites: counter('status_writes_total', 'Writes of rule statuses.', ['result']),
    finalizersRemoved: counter('finalizers_removed_total', 'Rules let go after removal.', []),
    removalSeconds: new Histogram({
      name: 'sdewan_coordinator_removal_seconds',
      help: 'From the deletion of a rule to the removal of our finalizer.',
      buckets: [0.5, 1, 2, 5, 10, 30, 60, 300, 3_600],
      registers,
    }),
  };
};

/** Read when scraped. */
export const exposeSources = (registry: Registry, sources: MetricsSources): void => {
  const registers = [registry];
  const rules: Gauge<'kind' | 'state'> = new Gauge({
    name: 'sdewan_coordinator_rules',
    help: 'Rules by kind and state: in_sync, out_of_sync, removing.',
    labelNames: ['kind', 'state'],
    registers,
    collect: () => {
      rules.reset();
      for (const [labels, count] of sources.rules()) rules.set(labels, count);
    },
  });
  const pods: Gauge<'state'> = new Gauge({
    name: 'sdewan_coordinator_pods',
    help: 'Live CNF pods: all, those made without the agent, those whose agent is silent.',
    labelNames: ['state'],
    registers,
    collect: () => {
      const { live, withoutAgent, silent } = sources.pods();
      pods.set({ state: 'live' }, live);
      pods.set({ state: 'without_agent' }, withoutAgent);
      pods.set({ state: 'silent' }, silent);
    },
  });
  const gauge = (name: string, help: string, read: () => number): void => {
    const created: Gauge = new Gauge({
      name: `sdewan_coordinator_${name}`,
      help,
      registers,
      collect: () => created.set(read()),
    });
  };
  gauge('queued_rules', 'Rules that wait to be looked at.', sources.queued);
  gauge('events_dropped', 'Events left out because their object caused too many.', () =>
    sources.droppedEvents(),
  );
};
