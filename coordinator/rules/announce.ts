/** Which Events a change of status is worth: what somebody has to mend, and that all is well again. */
import type { Condition, ConditionType, RuleStatus } from '#shared/protocol/status.ts';

export type Announcement = { type: 'Normal' | 'Warning'; reason: string; message: string };

type Check = (now: RuleStatus, before: RuleStatus | undefined) => Announcement | undefined;

export const announcements = (
  before: RuleStatus | undefined,
  now: RuleStatus,
): readonly Announcement[] =>
  checks.map((check) => check(now, before)).filter((said) => said !== undefined);

const stalled: Check = (now, before) => {
  const condition = conditionOf(now, 'Stalled');
  const was = conditionOf(before, 'Stalled');
  if (!condition || sayTheSame(condition, was)) return undefined;
  return { type: 'Warning', reason: condition.reason, message: condition.message };
};

const inSync: Check = (now, before) => {
  const ready = conditionOf(now, 'Ready');
  const news = now.appliedVersion !== before?.appliedVersion || conditionOf(before, 'Stalled');
  if (!now.inSync || !ready || !news) return undefined;
  const message = `generation ${now.appliedVersion} is ${ready.message}`;
  return { type: 'Normal', reason: ready.reason, message };
};

const withoutPurpose: Check = (now, before) => {
  const ready = conditionOf(now, 'Ready');
  if (ready?.reason !== 'NoPurpose' || sayTheSame(ready, conditionOf(before, 'Ready')))
    return undefined;
  return { type: 'Warning', reason: ready.reason, message: ready.message };
};

const checks: readonly Check[] = [stalled, inSync, withoutPurpose];

const conditionOf = (status: RuleStatus | undefined, type: ConditionType): Condition | undefined =>
  status?.conditions?.find((condition) => condition.type === type);

const sayTheSame = (one: Condition, other: Condition | undefined): boolean =>
  one.reason === other?.reason && one.message === other.message;
