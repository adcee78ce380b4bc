/**
 * No status can be written of what cannot be a time, or is far in the future, and nothing after it
 * would count: it is left out of a report. Pure.
 */
import type { Report } from '#shared/protocol/report.ts';

/** How far the clock of a pod's node may be ahead of the coordinator's. */
const MOST_AHEAD_MS = 60_000;

/** `wall`: when it came, by the coordinator's clock. */
export const withoutWrongTimes = ({ drifts, times, ...report }: Report, wall: number): Report => {
  const latest = Math.min(report.clock.sentAt, wall + MOST_AHEAD_MS);
  const isPast = (at: number): boolean => at >= 0 && at <= latest;
  return {
    ...report,
    ...(drifts && { drifts: drifts.filter(({ at }) => isPast(at)) }),
    ...(times && {
      times: times.filter(({ seenAt, begunAt, compiledAt, appliedAt }) =>
        [seenAt, begunAt, compiledAt, appliedAt].every(isPast),
      ),
    }),
  };
};
