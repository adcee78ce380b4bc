/** Counts for metrics, taken when somebody scrapes them. */
import type { CnfLabels } from './cnf-counts.ts';
import { isSilent, type RollupContext } from '../verdict/pod-verdict.ts';
import type { Reports } from '../reports/reports.ts';
import type { Rule } from '../verdict/rule.ts';
import type { Awaited } from './awaited.ts';
import type { Rules } from './rules.ts';
import type { Target } from '../cnf/target.ts';

const STATES = ['in_sync', 'out_of_sync', 'removing'] as const;
type State = (typeof STATES)[number];
export type RuleLabels = CnfLabels & { kind: string; state: State };

/** All states of each CNF and kind of which there is a rule. */
export const rulesByState = (rules: Rules): (readonly [RuleLabels, number])[] => {
  const counts = new Map<string, { of: CnfLabels & { kind: string }; by: Map<State, number> }>();
  for (const uid of rules.uids()) {
    const rule = rules.get(uid)?.rule;
    if (!rule) continue;
    const { namespace, purpose = '', kind } = rule;
    const key = JSON.stringify([namespace, purpose, kind]);
    const counted = counts.get(key) ?? { of: { namespace, purpose, kind }, by: new Map() };
    const state = stateOf(rule);
    counted.by.set(state, (counted.by.get(state) ?? 0) + 1);
    counts.set(key, counted);
  }
  return [...counts.values()].flatMap(({ of, by }) =>
    STATES.map((state) => [{ ...of, state }, by.get(state) ?? 0] as const),
  );
};

const stateOf = ({ deletedAt, status }: Rule): State => {
  if (deletedAt !== undefined) return 'removing';
  return status?.inSync ? 'in_sync' : 'out_of_sync';
};

export type PodLabels = CnfLabels & { state: 'live' | 'without_agent' | 'silent' };

export const censusOf = (
  pods: readonly Target[],
  reports: Reports,
  context: Pick<RollupContext, 'monotonic' | 'silentAfterMs'> & {
    awaited: Pick<Awaited, 'isOverdue'>;
  },
): (readonly [PodLabels, number])[] => {
  const isSilentNow = ({ uid }: Target): boolean => {
    const report = reports.of(uid);
    return report ? isSilent(report, context) : context.awaited.isOverdue(uid);
  };
  const live = pods.filter(({ finished, terminating }) => !finished && !terminating);
  const groups = Map.groupBy(live, ({ namespace, purpose }) =>
    JSON.stringify([namespace, purpose]),
  );
  return [...groups.values()].flatMap((group) => {
    const { namespace = '', purpose = '' } = group[0] ?? {};
    const count = (state: PodLabels['state'], some: readonly Target[]) =>
      [{ namespace, purpose, state }, some.length] as const;
    return [
      count('live', group),
      count(
        'without_agent',
        group.filter(({ agent }) => agent.state === 'missing'),
      ),
      count('silent', group.filter(isSilentNow)),
    ];
  });
};
