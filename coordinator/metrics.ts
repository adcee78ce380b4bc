/** What the coordinator counts. Labels are bounded: kinds, results, codes and some CNFs. */
import {
  Counter,
  exposeGauge,
  Gauge,
  Histogram,
  type Registry,
} from '#shared/metrics/prometheus.ts';
import type { ControllerMetrics } from '#shared/kube/controller.ts';
import { boundedCnfs, MAX_CNFS, type CnfLabels } from './controllers/rules/cnf-counts.ts';
import type { RuleMetrics } from './controllers/rules/controller.ts';

export type Metrics = RuleMetrics &
  ControllerMetrics & {
    /** `result`: what came of a report, or why it was refused. */
    reports: Counter<'result'>;
    tokenReviews: Counter<'result'>;
    /**
     * Sections that agents of the CNF have put back; with none, its series begins, so that
     * Prometheus sees the first ones as an increase.
     */
    drifted: (cnf: CnfLabels, sections: number) => void;
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
    syncSeconds: new Histogram({
      name: 'sdewan_coordinator_sync_seconds',
      help: 'Time from when the coordinator saw a new or changed rule until its status said that all pods of the CNF have it.',
      buckets: [0.5, 1, 2, 5, 10, 30, 60, 300, 3_600],
      registers,
    }),
    drifted: createDriftCounter(registry),
  };
};

/** Only where a coordinator talks to Neutron. */
export type NeutronMetrics = {
  called: (method: string, result: string) => void;
  /** Read when the metrics are scraped. */
  exposeFailing: (lastsMs: () => number) => void;
};

export const createNeutronMetrics = (registry: Registry): NeutronMetrics => {
  const registers = [registry];
  const calls = new Counter({
    name: 'sdewan_coordinator_openstack_calls_total',
    help: 'Calls of OpenStack by HTTP method and result: an HTTP status, or Timeout, Unreachable, Malformed.',
    labelNames: ['method', 'result'],
    registers,
  });
  let lastsMs = (): number => 0;
  exposeGauge(registry, {
    name: 'sdewan_coordinator_neutron_failing_seconds',
    help: 'For how long Neutron has not followed policies, since it cannot be reached or refuses, or clouds.yaml cannot be used; 0 while it follows, and on replicas that do not write.',
    read: () => lastsMs() / 1_000,
  });
  return {
    called: (method, result) => calls.inc({ method, result }),
    exposeFailing: (read) => {
      lastsMs = read;
    },
  };
};

const createDriftCounter = (registry: Registry): Metrics['drifted'] => {
  const drifts = new Counter({
    name: 'sdewan_coordinator_drift_repairs_total',
    help: 'Sections of rules that another user or program changed on OpenWRT and agents have put back, by CNF. CNFs that are too many are counted together, with purpose other.',
    labelNames: ['namespace', 'purpose'],
    registers: [registry],
  });
  const labelsOf = boundedCnfs(MAX_CNFS);
  return (cnf, sections) => drifts.inc(labelsOf(cnf), sections);
};

const controllerMetrics = (registry: Registry): ControllerMetrics => {
  const registers = [registry];
  const queues = new Map<string, { size: () => number; waitedMs: () => number }>();
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
    collect: () => queues.forEach(({ size }, controller) => queue.set({ controller }, size())),
  });
  const waited: Gauge<'controller'> = new Gauge({
    name: 'sdewan_coordinator_controller_queue_oldest_seconds',
    help: 'For how long the object that has waited longest could have been looked at; 0 when none waits.',
    labelNames: ['controller'],
    registers,
    collect: () =>
      queues.forEach(({ waitedMs }, controller) => waited.set({ controller }, waitedMs() / 1_000)),
  });
  return {
    reconciled: (controller, result, seconds) => {
      reconciles.inc({ controller, result });
      duration.observe({ controller }, seconds);
    },
    exposeQueue: (controller, size, waitedMs) => queues.set(controller, { size, waitedMs }),
  };
};

/** Admission: what came of a review, and the seconds that it took. */
export type ReviewMetrics = (webhook: string, result: string, seconds: number) => void;

export const createReviewMetrics = (registry: Registry): ReviewMetrics => {
  const registers = [registry];
  const reviews = new Counter({
    name: 'sdewan_coordinator_admission_reviews_total',
    help: 'Admission reviews, by webhook: allowed, warned, denied, malformed, failed.',
    labelNames: ['webhook', 'result'],
    registers,
  });
  const duration = new Histogram({
    name: 'sdewan_coordinator_admission_seconds',
    help: 'Time from an admission review to its answer, by webhook.',
    labelNames: ['webhook'],
    buckets: [0.005, 0.02, 0.1, 0.5, 2, 5],
    registers,
  });
  return (webhook, result, seconds) => {
    reviews.inc({ webhook, result });
    duration.observe({ webhook }, seconds);
  };
};

/** `expiresAt`: milliseconds since 1970, read when scraped. */
export const exposeExpiry = (registry: Registry, expiresAt: () => number): void =>
  exposeGauge(registry, {
    name: 'sdewan_coordinator_certificate_expiry_timestamp_seconds',
    help: 'Expiry of the served certificate, Unix time; absent if it is read from files.',
    read: () => expiresAt() / 1_000,
  });
