/** Gathers what is known of a rule at one moment and passes it to the pure functions that decide. */
import type { RuleStatus } from '#shared/protocol/status.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import { confirms, decide, type Decision } from '../../rule-status/deletion.ts';
import type { RollupContext } from '../../rule-status/pod-verdict.ts';
import { rollup } from '../../rule-status/rollup.ts';
import type { PodReport } from '../../rule-status/pod-report.ts';
import type { Pods } from '../../sources/cnf-pods.ts';
import type { Reports } from '../../reports/reports.ts';
import type { Rule } from '../../sources/rule.ts';
import type { Target } from '../../sources/cnf-pod.ts';
import type { Awaited } from './missing-reports.ts';

export type FactsDeps = {
  pods: Pick<Pods, 'ofPurpose' | 'ofNamespace' | 'look'>;
  reports: Reports;
  awaited: Awaited;
  silentAfterMs: number;
  clock: Clock;
};

export class RuleFacts {
  readonly #deps: FactsDeps;

  constructor(deps: FactsDeps) {
    this.#deps = deps;
  }

  /** Pods of the purpose; for a rule being deleted also those that have it from a time when its label was another. */
  targetsOf(rule: Rule): Target[] {
    const { pods } = this.#deps;
    if (rule.deletedAt !== undefined)
      return pods.ofNamespace(rule.namespace).filter((target) => this.#mayHold(rule, target));
    return rule.purpose === undefined ? [] : pods.ofPurpose(rule.namespace, rule.purpose);
  }

  /** The same from the API server, pods without a label too. @throws KubeError */
  async lookForTargets(rule: Rule): Promise<Target[]> {
    const present = await this.#deps.pods.look(rule.namespace);
    return present.filter((target) => this.#mayHold(rule, target));
  }

  decide(rule: Rule, targets: readonly Target[]): Decision {
    return decide(rule, targets, this.#reportsOf(targets), this.#context());
  }

  status(rule: Rule, targets: readonly Target[]): RuleStatus {
    return rollup(rule, targets, this.#reportsOf(targets), this.#context());
  }

  #mayHold(rule: Rule, target: Target): boolean {
    if (rule.purpose !== undefined && target.purpose === rule.purpose) return true;
    const word = this.#deps.reports.of(target.uid)?.rules.get(rule.uid);
    return word !== undefined && !confirms(word, rule);
  }

  #reportsOf(targets: readonly Target[]): ReadonlyMap<string, PodReport> {
    const reports = new Map<string, PodReport>();
    for (const { uid } of targets) {
      const report = this.#deps.reports.of(uid);
      if (report) reports.set(uid, report);
    }
    return reports;
  }

  #context(): RollupContext {
    const { awaited, clock, silentAfterMs } = this.#deps;
    return {
      now: clock.now(),
      monotonic: clock.monotonic(),
      silentAfterMs,
      awaited: awaited.uids,
    };
  }
}
