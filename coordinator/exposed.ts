/**
 * What the coordinator knows of rules and pods, by CNF, read when it is scraped. Only the leader
 * shows it; each replica counts what it does (metrics.ts).
 */
import { Counter, exposeGauge, Gauge, type Registry } from '#shared/metrics/prometheus.ts';
import type { CnfAges, PodLabels, RuleLabels, StallLabels } from './controllers/rules/counts.ts';
import {
  createCnfCounts,
  MAX_CNFS,
  type CnfLabels,
  type Counted,
} from './controllers/rules/cnf-counts.ts';

export type MetricsSources = {
  leads: () => boolean;
  /** Rules by what their status says. */
  rules: () => Iterable<Counted<RuleLabels>>;
  stalled: () => Iterable<Counted<StallLabels>>;
  pods: () => Iterable<Counted<PodLabels>>;
  ages: () => Iterable<readonly [CnfLabels, CnfAges]>;
  queued: () => number;
  droppedEvents: () => number;
};

/** A hundred CNFs with ten kinds each have as many; all series are < 5,000 (exposed.test.ts). */
const MAX_RULE_SERIES = 3_000;
const MAX_STALL_SERIES = 2 * MAX_CNFS;
const MAX_POD_SERIES = 4 * MAX_CNFS;
const BOUND = 'CNFs that are too many are counted together, with purpose other.';

export const exposeSources = (registry: Registry, sources: MetricsSources): void => {
  const registers = [registry];
  const ofCnfs = <Labels extends CnfLabels>(
    name: string,
    help: string,
    labelNames: (keyof Labels & string)[],
    {
      most,
      read,
      combine,
    }: {
      most: number;
      read: () => Iterable<Counted<Labels>>;
      combine?: (one: number, other: number) => number;
    },
  ): void => {
    const bounded = createCnfCounts<Labels>(most, combine);
    const gauge: Gauge = new Gauge({
      name: `sdewan_coordinator_${name}`,
      help,
      labelNames,
      registers,
      collect: () => {
        gauge.reset();
        if (!sources.leads()) return;
        for (const [labels, value] of bounded(read())) gauge.set(labels, value);
      },
    });
  };
  /** A scrape collects all metrics in one turn, and the ages go through all rules and pods. */
  let agesNow: ReturnType<MetricsSources['ages']> | undefined;
  const readAges = (): NonNullable<typeof agesNow> => {
    if (agesNow === undefined) queueMicrotask(() => (agesNow = undefined));
    return (agesNow ??= [...sources.ages()]);
  };
  const oldest = (name: string, help: string, of: keyof CnfAges): void => {
    const read = (): Counted<CnfLabels>[] =>
      [...readAges()].map(([labels, ages]) => [labels, ages[of]] as const);
    const what = 'The oldest of all CNFs that are too many is shown with purpose other.';
    ofCnfs<CnfLabels>(name, `${help} ${what}`, ['namespace', 'purpose'], {
      most: MAX_CNFS,
      read,
      combine: Math.max,
    });
  };
  ofCnfs<RuleLabels>(
    'rules',
    `Rules by CNF, kind and state: in_sync, out_of_sync, removing. ${BOUND}`,
    ['namespace', 'purpose', 'kind', 'state'],
    { most: MAX_RULE_SERIES, read: sources.rules },
  );
  ofCnfs<StallLabels>(
    'stalled_rules',
    `Rules that are not in sync until an operator changes something, by CNF and reason. ${BOUND}`,
    ['namespace', 'purpose', 'reason'],
    { most: MAX_STALL_SERIES, read: sources.stalled },
  );
  ofCnfs<PodLabels>(
    'pods',
    `Pods by CNF: live; of these without_agent, silent, whose agents do not report any more, and unreachable, whose OpenWRT does not answer. ${BOUND}`,
    ['namespace', 'purpose', 'state'],
    { most: MAX_POD_SERIES, read: sources.pods },
  );
  oldest(
    'oldest_out_of_sync_seconds',
    'For how long the rule of the CNF has been out of sync that has been so longest; 0: none is.',
    'outOfSync',
  );
  oldest(
    'oldest_removal_seconds',
    'Time since the deletion of the rule of the CNF that has waited longest to go; 0: none is being deleted.',
    'removal',
  );
  oldest(
    'oldest_report_seconds',
    'Time since the last report of the live pod of the CNF that has not reported for longest.',
    'report',
  );
  exposeGauge(registry, {
    name: 'sdewan_coordinator_leading',
    help: '1 on the replica that writes, 0 on the others.',
    read: () => Number(sources.leads()),
  });
  exposeGauge(registry, {
    name: 'sdewan_coordinator_queued_rules',
    help: 'Rules that wait to be reconciled.',
    read: sources.queued,
  });
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
