/**
 * Whether a rule has cut its CNF off: reported by an agent, and kept as long as the rule asks for
 * the same, since pods that start must not try again. The pod that said so takes it back when it
 * says that it has the rule, or that it has only heard of the loss: an agent that has found one
 * keeps that for the life of its pod, so another client with its token said it.
 */
import type { Reason } from '#shared/protocol/reasons.ts';
import { LOST_ELSEWHERE, type RuleStatus } from '#shared/protocol/status.ts';
import type { CnfPod } from '../sources/cnf-pod.ts';
import { isOfEarlierRun } from './earlier-run.ts';
import type { PodReport } from './pod-report.ts';
import { isSilent, type RollupContext } from './pod-verdict.ts';
import type { Rule } from '../sources/rule.ts';
import { truncated } from './wording.ts';

const LOST = 'LostConnectivity' satisfies Reason;

export const lostConnectivityOf = (
  rule: Rule,
  pods: readonly CnfPod[],
  reports: ReadonlyMap<string, PodReport>,
  context: RollupContext,
): Pick<RuleStatus, 'lostConnectivity'> => {
  const { purpose, revision, uid } = rule;
  if (purpose === undefined) return {};
  const words = pods.flatMap((pod) => {
    const report = reports.get(pod.uid);
    const word = report?.rules.get(uid);
    if (!report || word?.revision !== revision) return [];
    const holdsNow =
      !isSilent(report, context) && report.doubt === '' && !isOfEarlierRun(report, pod.agent);
    const hasLost = word.state === 'Failed' && word.reason === LOST;
    const hasHeard = hasLost && word.message.startsWith(LOST_ELSEWHERE);
    return [{ ...word, pod, holdsNow, hasHeard, hasFound: hasLost && !hasHeard }];
  });
  const before = rule.status?.lostConnectivity;
  const isTakenBack = words.some(
    ({ pod, state, hasHeard, holdsNow }) =>
      pod.uid === before?.podUID && holdsNow && (state === 'Applied' || hasHeard),
  );
  if (before?.purpose === purpose && before.revision === revision && !isTakenBack)
    return { lostConnectivity: before };
  // A rule that is to go does it by its removal.
  if (rule.deletedAt !== undefined) return {};
  const found = words.find(({ hasFound }) => hasFound);
  if (found === undefined) return {};
  const { message, pod } = found;
  const by = { pod: pod.name, podUID: pod.uid };
  return { lostConnectivity: { purpose, revision, message: truncated(message, 1_024), ...by } };
};
