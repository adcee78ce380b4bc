/**
 * Whether one pod has all rules of its CNF: what the roll-up asks of one rule and all pods, asked
 * of one pod and all rules. A roll-out waits for it before the pod takes over. Pure, by the same
 * verdicts as the roll-up.
 */
import type { CnfPod } from '../sources/cnf-pod.ts';
import type { PodReport } from './pod-report.ts';
import { podVerdict, type Problem, type RollupContext } from './pod-verdict.ts';
import type { Rule } from '../sources/rule.ts';

export type PodSync = {
  /** Each rule is in force on the pod, at the revision that it has today. */
  inSync: boolean;
  /** Why not, by rule. */
  problems: readonly (Problem & { rule: Rule })[];
};

/** `rules`: those of the pod's purpose and namespace. A deleted one asks nothing of the pod. */
export const podSync = (
  rules: Iterable<Rule>,
  pod: CnfPod,
  report: PodReport | undefined,
  context: RollupContext,
): PodSync => {
  const problems = [...rules]
    .filter(({ deletedAt }) => deletedAt === undefined)
    .flatMap((rule) => {
      const { problem } = podVerdict(rule, pod, report, context);
      return problem ? [{ ...problem, rule }] : [];
    });
  return { inSync: problems.length === 0, problems };
};
