/**
 * What agents have put back of a rule, for its status. Counted by their clocks, so that a
 * coordinator that has just started counts nothing twice.
 */
import type { RuleStatus } from '#shared/protocol/status.ts';
import type { PodReport } from './pod-report.ts';
import type { Rule } from '../sources/rule.ts';

export const driftOf = (
  { uid, status }: Rule,
  reports: Iterable<PodReport>,
): Pick<RuleStatus, 'drift'> => {
  const before = status?.drift;
  const known = before === undefined ? -Infinity : Date.parse(before.lastTime);
  const repairs = [...reports]
    .flatMap(({ drifts }) => drifts)
    .filter((drift) => drift.uid === uid && Math.floor(drift.at) > known)
    .sort((one, other) => one.at - other.at);
  const last = repairs.at(-1);
  if (last === undefined) return before === undefined ? {} : { drift: before };
  return {
    drift: {
      count: (before?.count ?? 0) + repairs.length,
      lastTime: new Date(last.at).toISOString(),
      section: `${last.package}.${last.section}`,
    },
  };
};
