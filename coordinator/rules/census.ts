/** Counts for metrics, taken when somebody scrapes them. */
import { isSilent, type RollupContext } from '../verdict/pod-verdict.ts';
import type { Reports } from '../reports/reports.ts';
import type { Rule } from '../verdict/rule.ts';
import type { Awaited } from './awaited.ts';
import type { Rules } from './rules.ts';
import type { Target } from '../cnf/target.ts';

type Labels = { kind: string; state: string };

export const rulesByState = (rules: Rules): Iterable<readonly [Labels, number]> => {
  const counts = new Map<string, readonly [Labels, number]>();
  for (const uid of rules.uids()) {
    const rule = rules.get(uid)?.rule;
    if (!rule) continue;
    const labels = { kind: rule.kind, state: stateOf(rule) };
    const key = `${labels.kind} ${labels.state}`;
    counts.set(key, [labels, (counts.get(key)?.[1] ?? 0) + 1]);
  }
  return counts.values();
};

const stateOf = ({ deletedAt, status }: Rule): string => {
  if (deletedAt !== undefined) return 'removing';
  return status?.inSync ? 'in_sync' : 'out_of_sync';
};

export const censusOf = (
  pods: readonly Target[],
  reports: Reports,
  context: Pick<RollupContext, 'monotonic' | 'silentAfterMs'> & {
    awaited: Pick<Awaited, 'isOverdue'>;
  },
): { live: number; withoutAgent: number; silent: number } => {
  const live = pods.filter(({ finished, terminating }) => !finished && !terminating);
  const silent = live.filter(({ uid }) => {
    const report = reports.of(uid);
    return report ? isSilent(report, context) : context.awaited.isOverdue(uid);
  });
  return {
    live: live.length,
    withoutAgent: live.filter(({ agent }) => agent.state === 'missing').length,
    silent: silent.length,
  };
};
