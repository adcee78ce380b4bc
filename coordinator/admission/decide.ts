/** From the checks' refusals to one verdict: what is denied, and what only warns. Pure. */
import type { CheckContext, Facts, RuleChange } from './checks/check.ts';
import type { ListedCheck } from './checks/list.ts';
import { admissionRefusals, type AdmissionRefusal } from './refusals.ts';
import type { ReviewVerdict } from './review.ts';

/** What a missing reference, an unknown network or a used target comes to. */
export const referenceModes = ['deny', 'warn', 'off'] as const;
export type ReferenceMode = (typeof referenceModes)[number];

export type FailedCheck = { check: ListedCheck; refusal: AdmissionRefusal };

/** All that the checks find, in their order. */
export const findRefusals = (
  checks: readonly ListedCheck[],
  change: RuleChange,
  facts: Facts,
  context: CheckContext,
): FailedCheck[] =>
  checks
    .filter(({ on }) => on.includes(change.operation))
    .flatMap((check) => {
      const refusal = check.check(change, facts, context);
      return refusal ? [{ check, refusal }] : [];
    });

/** Whether what it finds is a denial; else it is a warning, or nothing. */
export const mayDeny = (
  { severity }: Pick<ListedCheck, 'severity'>,
  { mode, dryRun }: { mode: ReferenceMode; dryRun: boolean },
): boolean => !dryRun && (severity === 'deny' || (severity === 'reference' && mode === 'deny'));

export const verdictOf = (
  found: readonly FailedCheck[],
  { mode, dryRun }: { mode: ReferenceMode; dryRun: boolean },
): ReviewVerdict => {
  const reported = found.filter(({ check }) => check.severity !== 'reference' || mode !== 'off');
  const isDenial = ({ check }: FailedCheck): boolean => mayDeny(check, { mode, dryRun });
  const warnings = reported.filter((one) => !isDenial(one)).map(({ refusal }) => refusal.message);
  const denials = reported.filter(isDenial).map(({ refusal }) => refusal);
  const [first] = denials;
  return first === undefined
    ? { allowed: true, warnings }
    : denied(first, denials.map(({ message }) => message).join('; '), warnings);
};

export const denied = (
  { reason }: Pick<AdmissionRefusal, 'reason'>,
  message: string,
  warnings: readonly string[] = [],
): ReviewVerdict => {
  const { code, status } = admissionRefusals[reason];
  return { allowed: false, warnings, code, reason: status, message: `${message} (${reason})` };
};
