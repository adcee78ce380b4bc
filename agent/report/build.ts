/** From what is known of the rules on this OpenWRT to what is said of them. Pure, and never says more than was read back. */
import type { Verdict } from '#shared/compile/types.ts';
import type { Reason } from '#shared/protocol/reasons.ts';
import { MAX_MESSAGE_LENGTH, type RuleReport, type RuleState } from '#shared/protocol/report.ts';
import { isHeld, lackFor, warningFor, type Standing } from '../reconcile/standing.ts';
import type { Told } from './trust.ts';

export type BuildInput = {
  standing: Standing;
  /** Whether what was read may be told. */
  told: Told;
  /** Why the last attempt to reach or change OpenWRT did not get through; '' when it did. */
  hindrance: string;
};

type Outcome = { state: RuleState; reason: Reason; message: string };

/** One per rule of the last pass. */
export const buildReports = (input: BuildInput): RuleReport[] =>
  input.standing.verdicts.map((verdict) => {
    const { rule, revision } = verdict;
    const { state, reason, message } = outcomeOf(verdict, input);
    const { name, uid, generation = 0 } = rule.metadata;
    const text = message.slice(0, MAX_MESSAGE_LENGTH);
    return { kind: rule.kind, name, uid, generation, revision, state, reason, message: text };
  });

const outcomeOf = (verdict: Verdict, input: BuildInput): Outcome => {
  const { reason, message } = verdict;
  if (verdict.verdict === 'failed') return { state: 'Failed', reason, message };
  const hurdle = hurdleFor(verdict, input);
  if (hurdle !== undefined) return hurdle;
  if (verdict.verdict === 'pending') return { state: 'Pending', reason, message };
  return verdict.verdict === 'wanted' ? appliedOrNot(verdict, input) : removedOrNot(verdict, input);
};

const appliedOrNot = (verdict: Verdict, { standing, hindrance }: BuildInput): Outcome => {
  if (isHeld(standing, verdict)) {
    const { kernelUnread } = standing;
    if (kernelUnread === undefined) return { state: 'Applied', reason: 'Applied', message: '' };
    return { state: 'Applied', reason: 'AppliedInFiles', message: kernelUnread };
  }
  const warning = warningFor(standing, verdict);
  if (warning !== undefined) {
    const message = `OpenWRT ignores it or a part of it: ${warning}`;
    return { state: 'Failed', reason: 'RefusedByOpenwrt', message };
  }
  const lack = lackFor(standing, verdict);
  if (lack !== undefined) {
    return {
      state: 'Pending',
      reason: 'NotInForce',
      message: `the kernel of OpenWRT lacks ${lack}`,
    };
  }
  return { state: 'Pending', reason: 'Applying', message: hindrance };
};

/** A package that OpenWRT does not have holds nothing of ours. */
const removedOrNot = ({ rule }: Verdict, input: BuildInput): Outcome => {
  const name = input.standing.packages.get(rule.kind);
  return name !== undefined && input.standing.strays.has(name)
    ? { state: 'Pending', reason: 'Removing', message: input.hindrance }
    : { state: 'Removed', reason: 'Removed', message: '' };
};

/** What keeps anything from being said of the rule now, whatever was read before. */
const hurdleFor = ({ rule }: Verdict, input: BuildInput): Outcome | undefined => {
  if (input.told !== 'holds') {
    const reason = input.told === 'silent' ? 'OpenwrtUnreachable' : 'OpenwrtUnread';
    return { state: 'Pending', reason, message: input.hindrance };
  }
  const { unusable, packages } = input.standing;
  const why = unusable.get(packages.get(rule.kind) ?? '');
  return why === undefined
    ? undefined
    : { state: 'Pending', reason: 'WaitingForPackage', message: why };
};
