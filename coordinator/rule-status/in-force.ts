/**
 * Whether a rule that is not in sync on a pod, or not removed from it, is in force there all the
 * same. Absence of a word is no evidence either way.
 */
import type { PodProblem } from '#shared/protocol/status.ts';
import type { Reason } from '#shared/protocol/reasons.ts';
import type { CnfPod } from '../sources/cnf-pod.ts';
import { isOfEarlierRun } from './earlier-run.ts';
import type { PodReport, RuleWord } from './pod-report.ts';
import type { Rule } from '../sources/rule.ts';
import { unreadSince } from './unread.ts';

export type Force = Required<Pick<PodProblem, 'inForce'>> & Pick<PodProblem, 'generationInForce'>;

type Moment = { monotonic: number; silentAfterMs: number };

export const forceOf = (
  rule: Rule,
  pod: CnfPod,
  report: PodReport | undefined,
  context: Moment,
): Force => {
  const { agent } = pod;
  if (agent.state === 'missing') return { inForce: 'NotInForce' };
  if (report === undefined)
    return { inForce: agent.state === 'started' ? 'Unconfirmed' : 'NotInForce' };
  const word = report.rules.get(rule.uid);
  const generation = generationIn(rule, word);
  const known = generation === undefined ? {} : { generationInForce: generation };
  if (isUnsaid(word) || !isOfNow(report, pod, context)) return { inForce: 'Unconfirmed', ...known };
  if (generation === undefined) return { inForce: 'NotInForce' };
  return { inForce: generation === rule.generation ? 'InForce' : 'EarlierInForce', ...known };
};

const isOfNow = (report: PodReport, pod: CnfPod, { monotonic, silentAfterMs }: Moment): boolean =>
  monotonic - report.receivedAt.monotonic <= silentAfterMs &&
  report.openwrt.reachable &&
  report.doubt === '' &&
  unreadSince(report, pod) === undefined &&
  !isOfEarlierRun(report, pod.agent);

/** The deletion of a rule makes another generation of what asks for the same. */
const generationIn = (rule: Rule, word: RuleWord | undefined): number | undefined => {
  if (word?.state !== 'Applied') return word?.generationInForce;
  return word.revision === rule.revision ? rule.generation : word.generation;
};

/** What is being removed is there until it is gone. */
const isUnsaid = (word: RuleWord | undefined): boolean =>
  word?.reason === ('Removing' satisfies Reason);

/** `… on 1 of 2 pods` can stand behind it. */
export const wordsOfForce = ({ inForce, generationInForce }: Force, generation: number): string => {
  const which =
    generationInForce === generation ? 'in force' : `generation ${generationInForce} in force`;
  if (inForce === 'NotInForce') return 'not in force';
  if (inForce !== 'Unconfirmed') return which;
  return generationInForce === undefined
    ? 'may be in force'
    : `${which} when last read, unconfirmed`;
};
