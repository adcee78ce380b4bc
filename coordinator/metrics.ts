/** What the coordinator counts. Labels are bounded: kinds, results, codes and a number of CNFs; never names of objects. */
import { Counter, Gauge, Histogram, type Registry } from '#shared/runtime/prometheus.ts';
import type { ControllerMetrics } from '#shared/kube/controller.ts';
import type { PodLabels, RuleLabels } from './rules/census.ts';
import { createCnfCounts } from './rules/cnf-counts.ts';
import type { RuleMetrics } from './rules/rules-controller.ts';

export type Metrics = RuleMetrics &
  ControllerMetrics & {
    /** `result`: what came of a report, or why it was refused. */
    reports: Counter<'result'>;
    tokenReviews: Counter<'result'>;
  };

export type MetricsSources = {
  /** Only the leader shows the state of rules and pods; each replica counts what it does. */
  leads: () => boolean;
  /** Rules by what their status says. */
  rules: () => Iterable<readonly [RuleLabels, number]>;
  pods: () => Iterable<readonly [PodLabels, number]>;
  queued: () => number;
  droppedEvents: () => number;
};

export const createMetrics = (registry: Registry): Metrics => {
  const registers = [registry];
  const counter = <L extends string>(name: string, help: string, labelNames: L[]): Counter<L> =>
    new Counter({ name: `sdewan_coordinator_${name}`, help, labelNames, registers });
  return {
    ...controllerMetrics(registry),
    reports: counter(
      'reports_total',
      'Reports of agents: news, heartbeat, partial (more pages follow), stale, unknown-base, or the code of a refusal.',
      ['result'],
    ),
    tokenReviews: counter(
      'token_reviews_total',
      'Token reviews by the API server: accepted, or the code of a refusal.',
      ['result'],
    ),
    statusWrites: counter(
      'status_writes_total',
      'Writes of rule statuses: written, conflict (tried again), error.',
      ['result'],
    ),
    finalizersRemoved: counter('finalizers_removed_total', 'Completed deletions of rules.', []),
    removalSeconds: new Histogram({
      name: 'sdewan_coordinator_removal_seconds',
      help: 'Time from the deletion of a rule to the removal of the finalizer.',
      buckets: [0.5, 1, 2, 5, 10, 30, 60, 300, 3_600],
      registers,
    }),
  };
};

const controllerMetrics = (registry: Registry): ControllerMetrics => {
  const registers = [registry];
  const queues = new Map<string, () => number>();
  const reconciles = new Counter({
    name: 'sdewan_coordinator_controller_reconciles_total',
    help: 'Objects that a controller has looked at, by result: done, again (at a set time), conflict (tried again), error, or why it is not as it should be.',
    labelNames: ['controller', 'result'],
    registers,
  });
  const duration = new Histogram({
    name: 'sdewan_coordinator_controller_reconcile_seconds',
    help: 'Time that a controller takes for one object.',
    labelNames: ['controller'],
    buckets: [0.001, 0.01, 0.1, 1, 10],
    registers,
  });
  const queue: Gauge<'controller'> = new Gauge({
    name: 'sdewan_coordinator_controller_queue',
    help: 'Objects that a controller will look at, now or at a set time.',
    labelNames: ['controller'],
    registers,
    collect: () => queues.forEach((size, controller) => queue.set({ controller }, size())),
  });
  return {
    reconciled: (controller, result, seconds) => {
      reconciles.inc({ controller, result });
      duration.observe({ controller }, seconds);
    },
    exposeQueue: (controller, size) => queues.set(controller, size),
  };
};

export const createReviewCounter = (registry: Registry): Counter<'webhook' | 'result'> =>
  new Counter({
    name: 'sdewan_coordinator_admission_reviews_total',
    help: 'Admission reviews, by webhook: allowed, warned, denied, malformed, failed.',
    labelNames: ['webhook', 'result'],
    registers: [registry],
  });

/** `expiresAt`: milliseconds since 1970, read when scraped. */
export const exposeExpiry = (registry: Registry, expiresAt: () => number): void => {
  const expiry: Gauge = new Gauge({
    name: 'sdewan_coordinator_certificate_expiry_timestamp_seconds',
    help: 'Expiry of the served certificate, Unix time; absent if it is read from files.',
    registers: [registry],
    collect: () => expiry.set(expiresAt() / 1_000),
  });
};

/** A hundred CNFs with ten kinds each have 3,000; the leader has a few hundred others. */
const MAX_RULE_SERIES = 3_600;
const MAX_POD_SERIES = 900;

/** Read when scraped. */
export const exposeSources = (registry: Registry, sources: MetricsSources): void => {
  const registers = [registry];
  const ruleCounts = createCnfCounts<RuleLabels>(MAX_RULE_SERIES);
  const rules: Gauge<keyof RuleLabels> = new Gauge({
    name: 'sdewan_coordinator_rules',
    help: 'Rules by CNF, kind and state: in_sync, out_of_sync, removing. CNFs that are too many are counted together, with purpose other.',
    labelNames: ['namespace', 'purpose', 'kind', 'state'],
    registers,
    collect: () => {
      rules.reset();
      if (!sources.leads()) return;
      for (const [labels, count] of ruleCounts(sources.rules())) rules.set(labels, count);
    },
  });
  const podCounts = createCnfCounts<PodLabels>(MAX_POD_SERIES);
  const pods: Gauge<keyof PodLabels> = new Gauge({
    name: 'sdewan_coordinator_pods',
    help: 'Pods by CNF: live; of these without_agent, and silent, whose agents do not report any more. CNFs that are too many are counted together, with purpose other.',
    labelNames: ['namespace', 'purpose', 'state'],
    registers,
    collect: () => {
      pods.reset();
      if (!sources.leads()) return;
      for (const [labels, count] of podCounts(sources.pods())) pods.set(labels, count);
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
  gauge('leading', '1 on the replica that writes, 0 on the others.', () =>
    sources.leads() ? 1 : 0,
  );
  gauge('queued_rules', 'Rules that wait to be reconciled.', sources.queued);
  const dropped: Counter = new Counter({
    name: 'sdewan_coordinator_events_dropped_total',
    help: 'Events that were dropped because their object had too many.',
    registers,
    collect: () => {
      dropped.reset();
      dropped.inc(sources.droppedEvents());
    },
  });
};
