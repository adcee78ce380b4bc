/**
 * From what is known of the rules on this OpenWRT to what is reported of them. Pure, and never
 * reports more than was read back.
 */
import type { Verdict } from '#shared/compile/types.ts';
import type { Information } from '#shared/protocol/information.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { sentenceOf, type Reason } from '#shared/protocol/reasons.ts';
import { MAX_MESSAGE_LENGTH, type RuleReport, type RuleState } from '#shared/protocol/report.ts';
import { few } from '#shared/util/few.ts';
import { uciName } from '#shared/uci/names.ts';
import { isInForce, lackFor, warningFor, type RuleStates } from '../reconcile/rule-states.ts';
import type { Reading } from './freshness.ts';

export type BuildInput = {
  standing: RuleStates;
  /** Whether what was read may be reported. */
  reading: Reading;
  /** Why the last attempt to reach or change OpenWRT did not get through; '' when it did. */
  problem: string;
  /** As far as that is known. */
  tunnels?: Information['tunnels'] | undefined;
};

export type Outcome = { state: RuleState; reason: Reason; message: string };

const BEFORE_LOSS = ', or made before it lost its ledger';

/** One per rule of the last pass. */
export const buildReports = (input: BuildInput): RuleReport[] =>
  input.standing.verdicts.map((verdict) => {
    const said = reportOf(verdict.rule, verdict.revision, outcomeOf(verdict, input));
    if (!isDone(said)) return { ...said, ...generationIn(verdict, input.standing) };
    return said.state === 'Applied' ? { ...said, ...tunnelsDownIn(verdict, input) } : said;
  });

const isDone = ({ state }: Pick<Outcome, 'state'>): boolean =>
  state === 'Applied' || state === 'Removed';

/** `object`: a rule, or another one that is carried to OpenWRT. */
export const reportOf = (object: RuleObject, revision: string, outcome: Outcome): RuleReport => {
  const { state, reason, message } = outcome;
  const { name, uid, generation = 0 } = object.metadata;
  const text = isDone(outcome) ? message : message || sentenceOf(reason);
  return {
    kind: object.kind,
    name,
    uid,
    generation,
    revision,
    state,
    reason,
    message: text.slice(0, MAX_MESSAGE_LENGTH),
  };
};

/** Nothing that was read may be reported. */
export const unreadOutcome = ({
  reading,
  problem,
}: Pick<BuildInput, 'reading' | 'problem'>): Outcome | undefined => {
  if (reading === 'holds') return undefined;
  const reason = reading === 'silent' ? 'OpenwrtUnreachable' : 'OpenwrtUnread';
  return { state: 'Pending', reason, message: problem };
};

const tunnelsDownIn = (
  { rule: { kind, metadata } }: Verdict,
  { standing, tunnels = [] }: BuildInput,
): Pick<RuleReport, 'tunnelsDown'> => {
  if (standing.packages.get(kind) !== 'ipsec') return {};
  const prefix = `${uciName(metadata.name)}-`;
  const own = tunnels.filter(({ name, starts }) => starts && name.startsWith(prefix));
  const down = own
    .filter(({ up }) => !up)
    .map(({ name, words }) => `${name.slice(prefix.length)}${words ? ` (${words})` : ''}`);
  if (down.length === 0) return own.length === 0 ? {} : { tunnelsDown: '' };
  return { tunnelsDown: `not up: ${few(down)}`.slice(0, 512) };
};

/** What was read last, also while that may not hold any more: `reason` says so. */
const generationIn = (
  verdict: Verdict,
  standing: RuleStates,
): Pick<RuleReport, 'generationInForce'> => {
  const { generationInForce, rule } = verdict;
  const stands = verdict.sections.length > 0 && isInForce(standing, verdict);
  const generation = stands ? generationInForce : standing.earlier.get(rule.metadata.uid);
  return generation ? { generationInForce: generation } : {};
};

const outcomeOf = (verdict: Verdict, input: BuildInput): Outcome => {
  const { reason, message } = verdict;
  if (verdict.verdict === 'failed') {
    const mayBeOurs = reason === 'NameTaken' && input.standing.isLedgerLost;
    return { state: 'Failed', reason, message: `${message}${mayBeOurs ? BEFORE_LOSS : ''}` };
  }
  const problemNow = problemFor(verdict, input);
  if (problemNow !== undefined) return problemNow;
  if (verdict.verdict === 'pending') return { state: 'Pending', reason, message };
  return verdict.verdict === 'wanted' ? appliedOrNot(verdict, input) : removedOrNot(verdict, input);
};

const appliedOrNot = (verdict: Verdict, { standing, problem }: BuildInput): Outcome => {
  const { paused, kernelUnread } = standing;
  const { clash } = verdict;
  if (clash !== undefined) return { state: 'Failed', reason: 'RefusedByOpenwrt', message: clash };
  if (isInForce(standing, verdict)) {
    const words = [kernelUnread ?? '', leftUp(verdict, standing)];
    const message = words.filter((each) => each !== '').join('; ');
    const usual = message === '' ? 'Applied' : 'AppliedInFiles';
    return { state: 'Applied', reason: paused ? 'Paused' : usual, message };
  }
  const warning = warningFor(standing, verdict);
  if (warning !== undefined) {
    const message = `OpenWRT ignores it or a part of it: ${warning}`;
    return { state: 'Failed', reason: 'RefusedByOpenwrt', message };
  }
  const lacking = lackFor(standing, verdict);
  if (paused) return pausedWith(lacking ?? 'OpenWRT does not have the rule as it is written');
  if (lacking !== undefined) return { state: 'Pending', reason: 'NotInForce', message: lacking };
  return { state: 'Pending', reason: 'Applying', message: problem };
};

/** What the rule had up before, where the agent cannot end it. */
const leftUp = (
  { rule: { kind, metadata } }: Verdict,
  { packages, ending }: RuleStates,
): string => {
  if (packages.get(kind) !== 'ipsec') return '';
  const remote = uciName(metadata.name);
  const left = ending.filter((name) => name === remote || name.startsWith(`${remote}/`));
  return left.length === 0
    ? ''
    : `tunnels of before may still be up, which the agent cannot end on this OpenWRT: ${left.join(', ')}`;
};

const pausedWith = (what: string): Outcome => ({
  state: 'Pending',
  reason: 'Paused',
  message: `${sentenceOf('Paused')}: ${what}`,
});

const removedOrNot = (verdict: Verdict, { standing, problem }: BuildInput): Outcome => {
  const { rule } = verdict;
  if (standing.removed.has(rule.metadata.uid))
    return { state: 'Removed', reason: 'Removed', message: leftUp(verdict, standing) };
  const doubted = standing.doubted.get(rule.metadata.uid);
  if (doubted !== undefined) {
    const message = `the agent has lost its ledger and cannot tell whether it made section ${doubted} of OpenWRT, which has the rule's name: remove that section, or replace the pod`;
    return { state: 'Pending', reason: 'Removing', message };
  }
  if (standing.paused)
    return pausedWith('it removes the rule when the annotation is removed from the pod');
  return { state: 'Pending', reason: 'Removing', message: problem };
};

/** Why nothing can be reported of the rule now, whatever was read before. */
const problemFor = ({ rule }: Verdict, input: BuildInput): Outcome | undefined => {
  const unread = unreadOutcome(input);
  if (unread !== undefined) return unread;
  const { unusable, packages } = input.standing;
  const why = unusable.get(packages.get(rule.kind) ?? '');
  return why === undefined
    ? undefined
    : { state: 'Pending', reason: 'WaitingForPackage', message: why };
};
