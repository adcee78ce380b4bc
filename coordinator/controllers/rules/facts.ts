/** Gathers what is known of a rule at one moment, for the pure functions that decide. */
import type { RuleStatus } from '#shared/protocol/status.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import { confirms, decide, type Decision } from '../../rule-status/deletion.ts';
import type { RollupContext } from '../../rule-status/pod-verdict.ts';
import { rollup } from '../../rule-status/rollup.ts';
import type { PodReport } from '../../rule-status/pod-report.ts';
import type { CnfPods } from '../../sources/cnf-pods.ts';
import type { Reports } from '../../reports/reports.ts';
import type { Rule } from '../../sources/rule.ts';
import type { CnfPod } from '../../sources/cnf-pod.ts';
import type { MissingReports } from './missing-reports.ts';

export type FactsDeps = {
  pods: Pick<CnfPods, 'ofPurpose' | 'ofNamespace' | 'look'>;
  reports: Reports;
  missingReports: MissingReports;
  silentAfterMs: number;
  clock: Clock;
};

export class RuleFacts {
  readonly #deps: FactsDeps;

  constructor(deps: FactsDeps) {
    this.#deps = deps;
  }

  /** Pods of the purpose; for a rule being deleted also those that have it by an earlier label. */
  podsOf(rule: Rule): CnfPod[] {
    const { pods } = this.#deps;
    if (rule.deletedAt !== undefined)
      return pods.ofNamespace(rule.namespace).filter((pod) => this.#mayHold(rule, pod));
    return rule.purpose === undefined ? [] : pods.ofPurpose(rule.namespace, rule.purpose);
  }

  /** The same from the API server, pods without a label too. @throws KubeError */
  async lookForPods(rule: Rule): Promise<CnfPod[]> {
    const present = await this.#deps.pods.look(rule.namespace);
    return present.filter((pod) => this.#mayHold(rule, pod));
  }

  decide(rule: Rule, pods: readonly CnfPod[]): Decision {
    return decide(rule, pods, this.#reportsOf(pods), this.#context());
  }

  status(rule: Rule, pods: readonly CnfPod[]): RuleStatus {
    return rollup(rule, pods, this.#reportsOf(pods), this.#context());
  }

  #mayHold(rule: Rule, pod: CnfPod): boolean {
    if (rule.purpose !== undefined && pod.purpose === rule.purpose) return true;
    const word = this.#deps.reports.of(pod.uid)?.rules.get(rule.uid);
    return word !== undefined && !confirms(word, rule);
  }

  #reportsOf(pods: readonly CnfPod[]): ReadonlyMap<string, PodReport> {
    const reports = new Map<string, PodReport>();
    for (const { uid } of pods) {
      const report = this.#deps.reports.of(uid);
      if (report) reports.set(uid, report);
    }
    return reports;
  }

  #context(): RollupContext {
    const { missingReports, clock, silentAfterMs } = this.#deps;
    return {
      now: clock.now(),
      monotonic: clock.monotonic(),
      silentAfterMs,
      missingReports: missingReports.uids,
    };
  }
}
