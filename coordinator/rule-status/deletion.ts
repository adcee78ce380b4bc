/**
 * Whether a rule that is being deleted may go. It may not while any pod could still have it: each
 * has to have reported, by the agent that runs there now, that the rule is gone. Silence, absence
 * from a report and a missing report count for nothing.
 */
import { sentenceOf } from '#shared/protocol/reasons.ts';
import { isOfEarlierRun } from './earlier-run.ts';
import { forceOf, type Force } from './in-force.ts';
import { isSilent, silence, type RollupContext } from './pod-verdict.ts';
import type { PodReport, RuleWord } from './pod-report.ts';
import type { Rule } from '../sources/rule.ts';
import { keysLeftOut } from '../sources/key-access.ts';
import { countedFor } from '../sources/ownerless-pods.ts';
import type { CnfPod } from '../sources/cnf-pod.ts';

export type Blocker = { pod: string; reason: string; message: string } & Force;

export type Decision = {
  /** Only of a rule that is being deleted. */
  remove: boolean;
  blockers: readonly Blocker[];
  /** What pods that have confirmed say besides. */
  remarks: readonly { pod: string; message: string }[];
  /** Pods that could have had the rule: those that block and those that have confirmed. */
  candidates: number;
  /** Milliseconds after which time alone may change the decision. */
  recheckInMs: number | undefined;
};

export type DecideContext = Pick<
  RollupContext,
  'now' | 'monotonic' | 'silentAfterMs' | 'missingReports'
>;

/**
 * An agent that starts after the deletion sees the rule as being deleted and never applies it. One
 * that had started by then says so in two ways: the kubelet posts that the container runs (its
 * status loop is 10 s; more than that was measured on a machine with a load of 30), and the agent
 * reports. So a pod that was silent in both for this time never will have held the rule, provided
 * that some coordinator was there to be reported to.
 */
export const STARTED_UNSEEN_MS = 20_000;

/** `pods`: every pod that may hold the rule, terminating ones too. Reports are by pod uid. */
export const decide = (
  rule: Rule,
  pods: readonly CnfPod[],
  reports: ReadonlyMap<string, PodReport>,
  context: DecideContext,
): Decision => {
  if (rule.deletedAt === undefined)
    return { remove: false, blockers: [], remarks: [], candidates: 0, recheckInMs: undefined };
  const settlesInMs = rule.deletedAt + STARTED_UNSEEN_MS - context.now;
  const isUnsettled = ({ uid }: CnfPod): boolean =>
    settlesInMs > 0 || context.missingReports.has(uid);
  const candidates = countedFor(rule, pods)
    .filter((pod) => canHold(pod, reports.get(pod.uid), isUnsettled(pod)))
    .sort((one, other) => (one.name < other.name ? -1 : 1));
  const blockers = candidates
    .map((pod) => blockerOf(rule, pod, reports.get(pod.uid), context))
    .filter((blocker) => blocker !== undefined);
  const unsettled = candidates.some((pod) => pod.agent.state === 'never-started');
  return {
    remove: blockers.length === 0,
    blockers,
    remarks: candidates.flatMap(({ name: pod, uid }) => {
      const word = reports.get(uid)?.rules.get(rule.uid);
      return word?.state === 'Removed' && word.message !== ''
        ? [{ pod, message: word.message }]
        : [];
    }),
    candidates: candidates.length,
    recheckInMs: unsettled && settlesInMs > 0 ? settlesInMs : undefined,
  };
};

/**
 * Whether it confirms exactly this rule: a spec does not change while the rule is being deleted, so
 * an agent that knows of it knows its revision.
 */
export const confirms = (
  word: RuleWord | undefined,
  { revision }: Pick<Rule, 'revision'>,
): boolean => word?.state === 'Removed' && word.revision === revision;

const canHold = (
  { finished, agent }: CnfPod,
  report: PodReport | undefined,
  isUnsettled: boolean,
): boolean => {
  if (finished || agent.state === 'missing') return false;
  if (agent.state === 'started' || report) return true;
  return agent.scheduled && isUnsettled;
};

const blockerOf = (
  rule: Rule,
  pod: CnfPod,
  report: PodReport | undefined,
  context: DecideContext,
): Blocker | undefined => {
  const because = (reason: string, message: string = sentenceOf(reason)): Blocker => ({
    pod: pod.name,
    reason,
    message,
    ...forceOf(rule, pod, report, context),
  });
  if (!report) return because('AgentStarting');
  if (isOfEarlierRun(report, pod.agent)) return because('AgentRestarted');
  const word = report.rules.get(rule.uid);
  if (confirms(word, rule)) return undefined;
  if (isSilent(report, context)) return because('AgentSilent', silence(report));
  if (!word)
    return report.unwatchedKinds.includes(rule.kind)
      ? because(
          'NotWatching',
          pod.withoutKinds.includes(rule.kind)
            ? keysLeftOut(rule.kind)
            : `the agent cannot watch ${rule.kind}, so it does not know of the deletion`,
        )
      : because('NotConfirmed');
  // It is from before the deletion: whether the agent is at work on it is not known.
  if (word.state === 'Applied') return because('NotConfirmed');
  if (word.state === 'Removed')
    return because('NotConfirmed', 'the agent has confirmed another version of the rule');
  return because(word.reason, word.message || undefined);
};
