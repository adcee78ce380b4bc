/** What the agent of a pod has reported of the rules of its CNF, as a roll-out judges it. Pure. */
import type { CnfPod } from '../../sources/cnf-pod.ts';
import { isSilent, type RollupContext } from '../../rule-status/pod-verdict.ts';
import { podSync } from '../../rule-status/pod-sync.ts';
import type { PodReport } from '../../rule-status/pod-report.ts';
import type { Rule } from '../../sources/rule.ts';
import { isOfRule } from '../../rule-status/wording.ts';
import type { FleetPod } from './pod.ts';

export type ReportedRules = Pick<FleetPod, 'actual' | 'link' | 'missing' | 'unheard'>;

/**
 * `rules`: those of the pod's purpose. Whether its containers are ready is the roll-out's own
 * question: behind its gate no pod is.
 */
export const standingOf = (
  rules: Iterable<Rule>,
  pod: CnfPod,
  report: PodReport | undefined,
  context: RollupContext,
): Pick<ReportedRules, 'link' | 'missing'> => {
  const { problems } = podSync(rules, { ...pod, ready: true }, report, context);
  return {
    link: linkOf(pod, report, context),
    missing: new Map(
      problems.map(({ rule, reason, failed }) => [
        `${rule.kind} ${rule.name}`,
        { refused: failed || isOfRule(reason), reason },
      ]),
    ),
  };
};

const linkOf = (
  { uid }: CnfPod,
  report: PodReport | undefined,
  context: RollupContext,
): FleetPod['link'] => {
  if (report !== undefined && !isSilent(report, context)) return 'Connected';
  return context.missingReports.has(uid) ? 'Unknown' : 'Silent';
};
