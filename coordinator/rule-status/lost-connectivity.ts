/**
 * Whether a rule has cut its CNF off: reported by an agent, and kept as long as the rule asks for
 * the same, since pods that start must not try again.
 */
import type { Reason } from '#shared/protocol/reasons.ts';
import type { RuleStatus } from '#shared/protocol/status.ts';
import type { PodReport } from './pod-report.ts';
import type { Rule } from '../sources/rule.ts';
import { truncated } from './wording.ts';

const LOST = 'LostConnectivity' satisfies Reason;

export const lostConnectivityOf = (
  rule: Rule,
  reports: Iterable<PodReport>,
): Pick<RuleStatus, 'lostConnectivity'> => {
  const { purpose, revision, uid } = rule;
  if (purpose === undefined) return {};
  const before = rule.status?.lostConnectivity;
  if (before?.purpose === purpose && before.revision === revision)
    return { lostConnectivity: before };
  // A rule that is to go does it by its removal.
  if (rule.deletedAt !== undefined) return {};
  for (const report of reports) {
    const word = report.rules.get(uid);
    if (word?.state !== 'Failed' || word.reason !== LOST || word.revision !== revision) continue;
    return { lostConnectivity: { purpose, revision, message: truncated(word.message, 1_024) } };
  }
  return {};
};
