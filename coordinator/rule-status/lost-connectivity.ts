/**
 * Whether a rule has cut its CNF off: reported by an agent, and kept as long as the rule asks for
 * the same, since pods that start must not try again. The pod that said so takes it back by having
 * the rule: its agent leaves it out, so another has said it in its place. Where that pod is gone,
 * any pod of the CNF does: the rule does not cut off all of them, and one that it does undoes it.
 */
import type { Reason } from '#shared/protocol/reasons.ts';
import { LOST_ELSEWHERE, type RuleStatus } from '#shared/protocol/status.ts';
import type { CnfPod } from '../sources/cnf-pod.ts';
import type { PodReport } from './pod-report.ts';
import type { Rule } from '../sources/rule.ts';
import { truncated } from './wording.ts';

const LOST = 'LostConnectivity' satisfies Reason;

export const lostConnectivityOf = (
  rule: Rule,
  pods: readonly CnfPod[],
  reports: ReadonlyMap<string, PodReport>,
): Pick<RuleStatus, 'lostConnectivity'> => {
  const { purpose, revision, uid } = rule;
  if (purpose === undefined) return {};
  const words = pods.flatMap(({ name: pod, uid: of }) => {
    const word = reports.get(of)?.rules.get(uid);
    return word?.revision === revision ? [{ ...word, pod }] : [];
  });
  const before = rule.status?.lostConnectivity;
  const isThere = pods.some(({ name }) => name === before?.pod);
  const isTakenBack = words.some(
    ({ pod, state }) => state === 'Applied' && (!isThere || pod === before?.pod),
  );
  if (before?.purpose === purpose && before.revision === revision && !isTakenBack)
    return { lostConnectivity: before };
  // A rule that is to go does it by its removal.
  if (rule.deletedAt !== undefined) return {};
  const found = words.find(
    ({ state, reason, message }) =>
      state === 'Failed' && reason === LOST && !message.startsWith(LOST_ELSEWHERE),
  );
  if (found === undefined) return {};
  const { pod, message } = found;
  return { lostConnectivity: { purpose, revision, message: truncated(message, 1_024), pod } };
};
