/**
 * Whether one live pod has a rule, and if not, why: an ordered list of small checks, of which the
 * first that finds something gives the answer. Nothing is taken as applied unless a fresh report of
 * a ready pod says so for this very uid and revision.
 */
import { sentenceOf, type ConditionReason, type Reason } from '#shared/protocol/reasons.ts';
import type { PodReport, RuleWord } from './pod-report.ts';
import type { Rule } from '../sources/rule.ts';
import { keysLeftOut } from '../sources/key-access.ts';
import type { CnfPod } from '../sources/cnf-pod.ts';
import { forceOf, type Force } from './in-force.ts';
import { unreadSince } from './unread.ts';
import { timestamp } from './wording.ts';

export type Problem = {
  reason: string;
  /** Never empty. */
  message: string;
  /** The agent reports that an operator has to change something. */
  failed: boolean;
};

export type PodVerdict = {
  pod: string;
  /** Ready, and has this revision now. */
  problem: (Problem & Force) | undefined;
  /** Ready, and has this generation; an order annotation may have changed since. */
  hasGeneration: boolean;
  /** Why its agent cannot see whether the kernel has the rule, too. */
  kernelUnread?: string | undefined;
  /** Which tunnels of it are down; '' when none is, undefined where that is not known. */
  tunnelsDown?: string | undefined;
  /** Its agent changes nothing, whether or not the pod has the rule. */
  paused?: boolean;
  /** When the pod's agent first reported so, wall-clock milliseconds. */
  since: number | undefined;
};

export type RollupContext = {
  /** Wall clock, milliseconds. */
  now: number;
  /** The clock of `receivedAt.monotonic`. */
  monotonic: number;
  /** A report older than this is not fresh. */
  silentAfterMs: number;
  /** Uids of pods that were there when the coordinator began to lead and have time left. */
  missingReports: ReadonlySet<string>;
};

export const podVerdict = (
  rule: Rule,
  pod: CnfPod,
  report: PodReport | undefined,
  context: RollupContext,
): PodVerdict => {
  const { name } = pod;
  if (isReportMissing(pod, report, context) && isCurrent(rule) && rule.status?.inSync)
    return { pod: name, problem: undefined, hasGeneration: true, since: undefined };
  const word = report?.rules.get(rule.uid);
  const facts: Facts = { rule, pod, report, word, context };
  const problem = problemOf(facts);
  const hasGeneration =
    (problem === undefined || problem.reason === ('Outdated' satisfies ConditionReason)) &&
    word?.state === 'Applied' &&
    word.generation === rule.generation;
  const paused = word?.reason === PAUSED;
  const { since, tunnelsDown } = word ?? {};
  return {
    pod: name,
    problem,
    hasGeneration,
    kernelUnread: unreadIn(word),
    tunnelsDown,
    paused,
    since,
  };
};

const problemOf = (facts: Facts): PodVerdict['problem'] => {
  const { rule, pod, report, context } = facts;
  const found = checks.map((check) => check(facts)).find((each) => each !== undefined);
  return found && { ...found, ...forceOf(rule, pod, report, context) };
};

const NOT_READY = `${sentenceOf('PodNotReady')}; kubectl describe pod says why`;
const PAUSED = 'Paused' satisfies Reason;

const unreadIn = (word: RuleWord | undefined): string | undefined =>
  word?.state === 'Applied' && word.message !== '' ? word.message : undefined;

/** The last status is about this generation. */
export const isCurrent = ({ status, generation }: Rule): boolean =>
  status?.observedGeneration === generation;

/** No problem of the pod is known: this coordinator has not led for long enough to hear it. */
export const isReportMissing = (
  pod: CnfPod,
  report: PodReport | undefined,
  context: Pick<RollupContext, 'missingReports' | 'monotonic' | 'silentAfterMs'>,
): boolean =>
  (!report || isSilent(report, context)) &&
  pod.ready &&
  pod.agent.state !== 'missing' &&
  context.missingReports.has(pod.uid);

type Facts = {
  rule: Rule;
  pod: CnfPod;
  report: PodReport | undefined;
  word: RuleWord | undefined;
  context: RollupContext;
};
type Check = (facts: Facts) => Problem | undefined;

const because = (
  reason: ConditionReason | Reason,
  message: string = sentenceOf(reason),
): Problem => ({ reason, message, failed: false });

/** Whatever is reported, the message of a problem is not empty. */
export const said = ({ reason, message }: RuleWord): Omit<Problem, 'failed'> => ({
  reason,
  message: message || sentenceOf(reason),
});

/** Whether the report is too old to say how things are now. */
export const isSilent = (
  report: PodReport,
  context: Pick<RollupContext, 'monotonic' | 'silentAfterMs'>,
): boolean => context.monotonic - report.receivedAt.monotonic > context.silentAfterMs;

export const silence = (report: PodReport): string =>
  `the agent has not reported since ${timestamp(report.receivedAt.wall)}`;

/** What a rule's author can fix comes before what an operator can; then what passes. */
const checks: readonly Check[] = [
  ({ pod }) =>
    pod.agent.state === 'missing'
      ? because('AgentMissing', `${sentenceOf('AgentMissing')}; re-create it`)
      : undefined,
  ({ rule, word, report, context }) =>
    report &&
    word?.state === 'Failed' &&
    word.revision === rule.revision &&
    !isSilent(report, context)
      ? { ...said(word), failed: true }
      : undefined,
  // Without its rules a pod that is paused from its beginning does not become ready.
  ({ word, report, context }) =>
    report && word?.state === 'Pending' && word.reason === PAUSED && !isSilent(report, context)
      ? { ...said(word), failed: false }
      : undefined,
  // Why not, which changes from moment to moment, is the same for all rules of the pod: CNFStatus
  // and an Event on the pod say it.
  ({ pod }) => (pod.ready ? undefined : because('PodNotReady', NOT_READY)),
  ({ report }) => (report ? undefined : because('AgentStarting')),
  ({ report, context }) =>
    report && isSilent(report, context) ? because('AgentSilent', silence(report)) : undefined,
  ({ report }) =>
    report?.openwrt.reachable === false
      ? because('OpenwrtUnreachable', report.openwrt.message || sentenceOf('OpenwrtUnreachable'))
      : undefined,
  ({ rule, pod, word, report }) =>
    (!word || isOutdated(rule, word)) && report?.unwatchedKinds.includes(rule.kind)
      ? because(
          'NotWatching',
          pod.withoutKinds.includes(rule.kind)
            ? keysLeftOut(rule.kind)
            : `the agent cannot watch ${rule.kind} and keeps the rules that it knows`,
        )
      : undefined,
  ({ word }) => (word ? undefined : because('Applying', 'the agent has not received the rule yet')),
  ({ rule, word }) =>
    word && isOutdated(rule, word) ? because('Outdated', outdated(rule, word)) : undefined,
  ({ word }) => (word && word.state !== 'Applied' ? { ...said(word), failed: false } : undefined),
  ({ pod, report }) => {
    const unread = report && unreadSince(report, pod);
    return unread === undefined ? undefined : because('OpenwrtUnread', unread);
  },
  // What is true stays for the moment; nothing becomes true by what may not hold any more.
  ({ rule, report }) =>
    report && report.doubt !== '' && !(isCurrent(rule) && rule.status?.inSync)
      ? because('OpenwrtUnread', report.doubt)
      : undefined,
];

/**
 * Also where the rule asks again for what it asked for before: the pod may have had something else
 * since the agent reported.
 */
const isOutdated = (rule: Rule, word: RuleWord): boolean =>
  word.revision !== rule.revision || word.generation !== rule.generation;

const outdated = (rule: Rule, word: RuleWord): string => {
  if (word.generation === rule.generation) return 'the pod still has an earlier order of the rule';
  return word.state === 'Applied'
    ? `the pod still has generation ${word.generation}`
    : `the agent has reported of generation ${word.generation} only`;
};
