/** Counts for metrics, taken when these are scraped. */
import type { CnfLabels } from './cnf-counts.ts';
import { isKnownReason } from '#shared/protocol/reasons.ts';
import type { Condition, ConditionType } from '#shared/protocol/status.ts';
import { isSilent, type RollupContext } from '../../rule-status/pod-verdict.ts';
import type { Reports } from '../../reports/reports.ts';
import type { Rule } from '../../sources/rule.ts';
import type { MissingReports } from './missing-reports.ts';
import type { CnfPod } from '../../sources/cnf-pod.ts';

type KnownRules = {
  uids: () => Iterable<string>;
  get: (uid: string) => { rule: Rule } | undefined;
};

const STATES = ['in_sync', 'out_of_sync', 'removing'] as const;
type State = (typeof STATES)[number];
export type RuleLabels = CnfLabels & { kind: string; state: State };

/** All states of each CNF and kind of which there is a rule. */
export const rulesByState = (rules: KnownRules): (readonly [RuleLabels, number])[] => {
  const counts = new Map<string, { of: CnfLabels & { kind: string }; by: Map<State, number> }>();
  for (const rule of rulesOf(rules)) {
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

export type StallLabels = CnfLabels & { reason: string };

/** Rules for which something has to be changed, by the word of their condition. */
export const stalledRules = (rules: KnownRules): (readonly [StallLabels, number])[] => {
  const counts = new Map<string, [StallLabels, number]>();
  for (const { namespace, purpose = '', status } of rulesOf(rules)) {
    const said = conditionOf(status, 'Stalled')?.reason;
    if (said === undefined) continue;
    // Prometheus keeps a series for each label.
    const reason = isKnownReason(said) ? said : 'Other';
    const key = JSON.stringify([namespace, purpose, reason]);
    const counted = counts.get(key) ?? [{ namespace, purpose, reason }, 0];
    counted[1] += 1;
    counts.set(key, counted);
  }
  return [...counts.values()];
};

/** Seconds. */
export type CnfAges = {
  /** Seconds of the rule that has been out of sync longest. */
  outOfSync: number;
  /** Since the deletion of the rule that has waited longest to go. */
  removal: number;
  /**
   * Since the last report of the live pod that has not reported for longest; a pod that never has
   * is none (`silent` counts it).
   */
  report: number;
};

/** All CNFs that have a rule or a pod. */
export const agesOf = (
  rules: KnownRules,
  pods: readonly CnfPod[],
  reports: Reports,
  { now, monotonic }: Pick<RollupContext, 'now' | 'monotonic'>,
): (readonly [CnfLabels, CnfAges])[] => {
  const ages = new Map<string, readonly [CnfLabels, CnfAges]>();
  const raise = (
    { namespace, purpose = '' }: { namespace: string; purpose?: string | undefined },
    age: keyof CnfAges,
    ms: number,
  ): void => {
    const key = JSON.stringify([namespace, purpose]);
    const [cnf, known] = ages.get(key) ?? [
      { namespace, purpose },
      { outOfSync: 0, removal: 0, report: 0 },
    ];
    known[age] = Math.max(known[age], ms / 1_000);
    ages.set(key, [cnf, known]);
  };
  for (const rule of rulesOf(rules)) {
    const ready = conditionOf(rule.status, 'Ready');
    const isOut = rule.deletedAt === undefined && ready !== undefined && ready.status !== 'True';
    raise(rule, 'outOfSync', isOut ? now - Date.parse(ready.lastTransitionTime) : 0);
    raise(rule, 'removal', rule.deletedAt === undefined ? 0 : now - rule.deletedAt);
  }
  for (const pod of pods.filter(isLive)) {
    const at = reports.of(pod.uid)?.receivedAt.monotonic;
    raise(pod, 'report', at === undefined ? 0 : monotonic - at);
  }
  return [...ages.values()];
};

const rulesOf = (rules: KnownRules): Rule[] =>
  [...rules.uids()].flatMap((uid) => rules.get(uid)?.rule ?? []);

const conditionOf = (status: Rule['status'], type: ConditionType): Condition | undefined =>
  status?.conditions?.find((condition) => condition.type === type);

const isLive = ({ finished, terminating }: CnfPod): boolean => !finished && !terminating;

const stateOf = ({ deletedAt, status }: Rule): State => {
  if (deletedAt !== undefined) return 'removing';
  return status?.inSync ? 'in_sync' : 'out_of_sync';
};

export type PodLabels = CnfLabels & { state: 'live' | 'without_agent' | 'silent' | 'unreachable' };

export const censusOf = (
  pods: readonly CnfPod[],
  reports: Reports,
  context: Pick<RollupContext, 'monotonic' | 'silentAfterMs'> & {
    missingReports: Pick<MissingReports, 'isOverdue'>;
  },
): (readonly [PodLabels, number])[] => {
  const isSilentNow = ({ uid }: CnfPod): boolean => {
    const report = reports.of(uid);
    return report ? isSilent(report, context) : context.missingReports.isOverdue(uid);
  };
  const live = pods.filter(isLive);
  const groups = Map.groupBy(live, ({ namespace, purpose }) =>
    JSON.stringify([namespace, purpose]),
  );
  return [...groups.values()].flatMap((group) => {
    const { namespace = '', purpose = '' } = group[0] ?? {};
    const count = (state: PodLabels['state'], some: readonly CnfPod[]) =>
      [{ namespace, purpose, state }, some.length] as const;
    return [
      count('live', group),
      count(
        'without_agent',
        group.filter(({ agent }) => agent.state === 'missing'),
      ),
      count('silent', group.filter(isSilentNow)),
      count(
        'unreachable',
        group.filter(({ uid }) => reports.of(uid)?.openwrt.reachable === false),
      ),
    ];
  });
};
