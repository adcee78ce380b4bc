/**
 * The status of a rule out of everything that is known of its pods. `inSync` is true only when each
 * live pod is ready and freshly reports this very revision. Pure; the same facts give the same
 * status, and feeding a status back changes nothing.
 */
import { sentenceOf } from '#shared/protocol/reasons.ts';
import { MAX_LISTED_PODS, type PodProblem, type RuleStatus } from '#shared/protocol/status.ts';
import { decide, type Decision } from './deletion.ts';
import { driftOf } from './drift.ts';
import { lostConnectivityOf } from './lost-connectivity.ts';
import type { PodReport } from './pod-report.ts';
import type { Rule } from '../sources/rule.ts';
import { countedFor } from '../sources/ownerless-pods.ts';
import type { CnfPod } from '../sources/cnf-pod.ts';
import { conditionsOf, type ConditionNow } from './conditions.ts';
import {
  isReportMissing,
  isCurrent,
  podVerdict,
  type PodVerdict,
  type RollupContext,
} from './pod-verdict.ts';
import { describePods, describeProblems, rankOf, timestamp, truncated } from './wording.ts';

/** `pods`: those of the rule's purpose; for a deleted rule also others that may hold it. */
export const rollup = (
  rule: Rule,
  pods: readonly CnfPod[],
  reports: ReadonlyMap<string, PodReport>,
  context: RollupContext,
): RuleStatus => {
  const { lostConnectivity: _before, ...status } = statusOf(rule, pods, reports, context);
  return {
    ...status,
    ...driftOf(rule, reports.values()),
    ...lostConnectivityOf(rule, countedFor(rule, pods), reports, context),
  };
};

const statusOf = (
  rule: Rule,
  pods: readonly CnfPod[],
  reports: ReadonlyMap<string, PodReport>,
  context: RollupContext,
): RuleStatus => {
  const counted = countedFor(rule, pods);
  const live = counted
    .filter((pod) => !pod.finished && !pod.terminating)
    .sort((one, other) => (one.name < other.name ? -1 : 1));
  const concerned = rule.deletedAt === undefined ? live : counted.filter((pod) => !pod.finished);
  // A coordinator that has just started knows less than the one that wrote this status; only
  // `inSync: true` is computed anew.
  const unreported = concerned.some((pod) => isReportMissing(pod, reports.get(pod.uid), context));
  if (unreported && isCurrent(rule) && rule.status?.pods?.live && !rule.status.inSync)
    return rule.status;
  if (rule.deletedAt !== undefined)
    return removing(rule, decide(rule, pods, reports, context), context);
  if (rule.purpose === undefined) return withoutPurpose(rule, context);
  if (live.length === 0) return waitingForCnf(rule, rule.purpose, context);
  const verdicts = live.map((pod) => podVerdict(rule, pod, reports.get(pod.uid), context));
  return applying(rule, verdicts, context);
};

const applying = (
  rule: Rule,
  verdicts: readonly PodVerdict[],
  context: RollupContext,
): RuleStatus => {
  const problems = verdicts.flatMap(({ pod, problem }) => (problem ? [{ pod, ...problem }] : []));
  const ranked = problems.toSorted((one, other) => rankOf(one) - rankOf(other));
  const [worst] = ranked;
  const pods = podCounts(verdicts.length - problems.length, verdicts.length);
  const applied = appliedFields(rule, verdicts, context);
  if (!worst)
    return {
      ...base(rule, 'In Sync'),
      inSync: true,
      ...applied,
      pods,
      conditions: conditionsOf(rule, context.now, [
        { type: 'Ready', status: 'True', reason: 'InSync', message: `on all pods (${pods.live})` },
        ...kernelUnread(verdicts),
        ...paused(verdicts),
        ...tunnelUp(rule, verdicts),
      ]),
    };
  const message = describeProblems(ranked, verdicts.length, rule.generation);
  const { reason } = worst;
  return {
    ...base(rule, 'Trying to apply', message),
    inSync: false,
    ...applied,
    pods,
    ...listed(ranked),
    conditions: conditionsOf(rule, context.now, [
      { type: 'Ready', status: 'False', reason, message },
      ...(worst.failed ? [{ type: 'Stalled', status: 'True', reason, message } as const] : []),
      ...kernelUnread(verdicts),
      ...paused(verdicts),
      ...tunnelUp(rule, verdicts),
    ]),
  };
};

/** In sync means the files of these pods only. */
const kernelUnread = (verdicts: readonly PodVerdict[]): ConditionNow[] => {
  const unread = verdicts.flatMap(({ pod, kernelUnread: message }) =>
    message === undefined ? [] : [{ pod, message }],
  );
  if (unread.length === 0) return [];
  const message = describePods(unread, verdicts.length);
  return [{ type: 'KernelRead', status: 'False', reason: 'AppliedInFiles', message }];
};

/** In sync or not: whether a tunnel comes up is a matter of both sides. */
const tunnelUp = (rule: Rule, verdicts: readonly PodVerdict[]): ConditionNow[] => {
  const known = verdicts.flatMap(({ pod, tunnelsDown: message }) =>
    message === undefined ? [] : [{ pod, message }],
  );
  const type = 'TunnelUp';
  const before = rule.status?.conditions?.find((condition) => condition.type === type);
  // A coordinator that has just started does not know yet.
  if (before && isCurrent(rule) && verdicts.some(({ since }) => since === undefined))
    return [{ ...before, type }];
  if (known.length === 0) return [];
  const down = known.filter(({ message }) => message !== '');
  return down.length === 0
    ? [{ type, status: 'True', reason: 'TunnelUp', message: sentenceOf('TunnelUp') }]
    : [
        {
          type,
          status: 'False',
          reason: 'TunnelDown',
          message: describePods(down, verdicts.length),
        },
      ];
};

/** In sync or not: no drift of the rule on these pods is repaired. */
const paused = (verdicts: readonly PodVerdict[]): ConditionNow[] => {
  const reason = 'Paused';
  const pods = verdicts.filter((verdict) => verdict.paused === true);
  if (pods.length === 0) return [];
  const problems = pods.map(({ pod }) => ({ pod, message: sentenceOf(reason) }));
  const message = describePods(problems, verdicts.length);
  return [{ type: 'Paused', status: 'True', reason, message }];
};

/** All or nothing; the time stays for as long as the generation is the one it was said of. */
const appliedFields = (
  rule: Rule,
  verdicts: readonly PodVerdict[],
  context: RollupContext,
): Pick<RuleStatus, 'appliedVersion' | 'appliedTime' | 'appliedGeneration'> => {
  if (!verdicts.every((verdict) => verdict.hasGeneration)) return {};
  const version = String(rule.generation);
  const kept = rule.status?.appliedVersion === version ? rule.status.appliedTime : undefined;
  const confirmedAt = Math.max(...verdicts.map((verdict) => verdict.since ?? context.now));
  return {
    appliedVersion: version,
    appliedTime: kept ?? timestamp(confirmedAt),
    appliedGeneration: rule.generation,
  };
};

const removing = (rule: Rule, decision: Decision, context: RollupContext): RuleStatus => {
  const { blockers, candidates } = decision;
  const ranked = blockers.toSorted((one, other) => rankOf(one) - rankOf(other));
  const message =
    blockers.length === 0
      ? 'being deleted: no pod has the rule any more'
      : `being deleted: ${describeProblems(ranked, candidates, rule.generation)}`;
  return {
    ...base(rule, 'Being delete', message),
    inSync: false,
    pods: podCounts(blockers.length, candidates),
    ...listed(ranked),
    conditions: conditionsOf(rule, context.now, [
      { type: 'Ready', status: 'False', reason: 'Removing', message },
      { type: 'Removed', status: 'False', reason: ranked[0]?.reason ?? 'Removing', message },
    ]),
  };
};

const withoutPurpose = (rule: Rule, context: RollupContext): RuleStatus => {
  const message = `${sentenceOf('NoPurpose')}: not in force; add the label`;
  return {
    ...base(rule, 'Unknown status', message),
    inSync: false,
    conditions: conditionsOf(rule, context.now, [
      { type: 'Ready', status: 'False', reason: 'NoPurpose', message },
    ]),
  };
};

const waitingForCnf = (rule: Rule, purpose: string, context: RollupContext): RuleStatus => {
  const message = `no pod in namespace ${rule.namespace} has the label sdewanPurpose=${purpose}: not in force`;
  return {
    ...base(rule, 'Trying to apply', message),
    inSync: false,
    pods: podCounts(0, 0),
    conditions: conditionsOf(rule, context.now, [
      { type: 'Ready', status: 'False', reason: 'WaitingForCnf', message },
    ]),
  };
};

const base = (
  rule: Rule,
  state: NonNullable<RuleStatus['state']>,
  message?: string,
): RuleStatus => ({
  observedGeneration: rule.generation,
  state,
  ...(message !== undefined && { message }),
});

const podCounts = (applied: number, live: number): NonNullable<RuleStatus['pods']> => ({
  live,
  applied,
  summary: `${applied}/${live}`,
});

const listed = (problems: readonly PodProblem[]): Pick<RuleStatus, 'outOfSync'> =>
  problems.length === 0
    ? {}
    : {
        outOfSync: problems
          .slice(0, MAX_LISTED_PODS)
          .map(({ pod, reason, message, inForce, generationInForce }) => ({
            pod,
            reason,
            message: truncated(message, 1_024),
            ...(inForce && { inForce }),
            ...(generationInForce !== undefined && { generationInForce }),
          })),
      };
