/** What the coordinator counts of roll-outs. Labels are those of CNFs: a bounded number. */
import { Counter, Gauge, type Registry } from '#shared/metrics/prometheus.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import { createCnfCounts, MAX_CNFS, type CnfLabels } from '../rules/cnf-counts.ts';
import type { Stage } from './decide.ts';

export type RollOutMetrics = {
  /** A term begins: nothing is known of what another replica has looked after. */
  begin: () => void;
  /** `cnf`: key of the CNFDeployment. */
  looked: (cnf: string, seen: SeenRollOut) => void;
  gone: (cnf: string) => void;
  /** A set of pods was given up. */
  failed: () => void;
  /** A pod was deleted, since it was overdue. */
  replaced: () => void;
};

export type SeenRollOut = CnfLabels & {
  stage: Stage;
  /** Since when, wall-clock milliseconds. */
  since: number;
  /** A pod that has the traffic is ready. */
  serves: boolean;
};

type Known = SeenRollOut & {
  /** Up to when it is counted that nothing serves; monotonic. Undefined: something does. */
  unservedFrom: number | undefined;
};

/** A stage is a series, and those that are over stay, with zero, as long as there is room. */
const MAX_STAGE_SERIES = 3 * MAX_CNFS;

export const createRollOutMetrics = (
  registry: Registry,
  { leads, clock }: { leads: () => boolean; clock: Clock },
): RollOutMetrics => {
  const registers = [registry];
  const known = new Map<string, Known>();
  const failures = new Counter({
    name: 'sdewan_coordinator_rollouts_failed_total',
    help: 'Sets of pods of CNFDeployments that were given up.',
    registers,
  });
  const replacements = new Counter({
    name: 'sdewan_coordinator_rollout_pods_replaced_total',
    help: 'Pods of CNFDeployments that were deleted because they were over createTimeout or healthTimeout.',
    registers,
  });
  const unserved: Counter = new Counter({
    name: 'sdewan_coordinator_rollout_unserved_seconds_total',
    help: 'Seconds in which a CNFDeployment that had served had no pod with the traffic that was ready and whose agent was heard, of all added up.',
    registers,
    collect: () => known.forEach(count),
  });
  const count = (cnf: Known): void => {
    if (cnf.unservedFrom === undefined) return;
    const now = clock.monotonic();
    unserved.inc((now - cnf.unservedFrom) / 1_000);
    cnf.unservedFrom = now;
  };
  const stages = createCnfCounts<CnfLabels & { stage: Stage }>(MAX_STAGE_SERIES);
  const stage: Gauge<'namespace' | 'purpose' | 'stage'> = new Gauge({
    name: 'sdewan_coordinator_rollout_stage',
    help: 'CNFDeployments by CNF and stage of their roll-out; Current: there is none. CNFs that are too many are counted together, with purpose other.',
    labelNames: ['namespace', 'purpose', 'stage'],
    registers,
    collect: () => {
      stage.reset();
      if (!leads()) return;
      const all = [...known.values()].map(
        (cnf) => [{ namespace: cnf.namespace, purpose: cnf.purpose, stage: cnf.stage }, 1] as const,
      );
      for (const [labels, number] of stages(all)) stage.set(labels, number);
    },
  });
  const underWay = createCnfCounts<CnfLabels>(MAX_CNFS, Math.max);
  const seconds: Gauge<keyof CnfLabels> = new Gauge({
    name: 'sdewan_coordinator_rollout_stage_seconds',
    help: 'For how long a roll-out has been in its stage, by CNF; 0 where there is none. The longest of all CNFs that are too many is shown with purpose other.',
    labelNames: ['namespace', 'purpose'],
    registers,
    collect: () => {
      seconds.reset();
      if (!leads()) return;
      const now = clock.now();
      const all = [...known.values()].map(
        ({ namespace, purpose, stage: is, since }) =>
          [
            { namespace, purpose },
            is === 'Current' ? 0 : Math.max(0, now - since) / 1_000,
          ] as const,
      );
      for (const [labels, number] of underWay(all)) seconds.set(labels, number);
    },
  });
  return {
    begin: () => known.clear(),
    looked: (cnf, seen) => {
      const before = known.get(cnf);
      if (before) count(before);
      const isLost =
        !seen.serves && (before?.serves === true || before?.unservedFrom !== undefined);
      known.set(cnf, {
        ...seen,
        unservedFrom: isLost ? (before?.unservedFrom ?? clock.monotonic()) : undefined,
      });
    },
    gone: (cnf) => {
      const before = known.get(cnf);
      if (before) count(before);
      known.delete(cnf);
    },
    failed: () => failures.inc(),
    replaced: () => replacements.inc(),
  };
};
