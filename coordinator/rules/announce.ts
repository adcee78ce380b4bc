/**
 * Which Events a change of status is worth: what somebody has to fix, and that the problem has ended. A cause is reported once, however many pods
 * come to it one after the other; a pod that goes away and comes back causes no Events of its rules.
 */
import type { Condition, ConditionType, RuleStatus } from '#shared/protocol/status.ts';

export type Announcement = { type: 'Normal' | 'Warning'; reason: string; message: string };

/** `applied`: the version that is known to have been on all pods. */
type Before = { status: RuleStatus | undefined; applied: string | undefined };
type Check = (now: RuleStatus, before: Before) => Announcement | undefined;

export class Announcer {
  /** By the rule's uid: a status that is out of sync does not show it. */
  readonly #applied = new Map<string, string>();

  announcements(
    uid: string,
    before: RuleStatus | undefined,
    now: RuleStatus,
  ): readonly Announcement[] {
    const applied = before?.appliedVersion ?? this.#applied.get(uid);
    if (applied !== undefined) this.#applied.set(uid, applied);
    return checks
      .map((check) => check(now, { status: before, applied }))
      .filter((said) => said !== undefined);
  }

  /** The rule is gone. */
  forget(uid: string): void {
    this.#applied.delete(uid);
  }
}

const stalled: Check = (now, before) => {
  const condition = conditionOf(now, 'Stalled');
  if (!condition) return undefined;
  const known = new Set(causesOf(before.status));
  if (causesOf(now).every((cause) => known.has(cause))) return undefined;
  return { type: 'Warning', reason: condition.reason, message: condition.message };
};

const inSync: Check = (now, before) => {
  const ready = conditionOf(now, 'Ready');
  const news = now.appliedVersion !== before.applied || conditionOf(before.status, 'Stalled');
  if (!now.inSync || !ready || !news) return undefined;
  const message = `generation ${now.appliedVersion} is ${ready.message}`;
  return { type: 'Normal', reason: ready.reason, message };
};

const withoutPurpose: Check = (now, before) => {
  const ready = conditionOf(now, 'Ready');
  if (ready?.reason !== 'NoPurpose' || conditionOf(before.status, 'Ready')?.reason === 'NoPurpose')
    return undefined;
  return { type: 'Warning', reason: ready.reason, message: ready.message };
};

const checks: readonly Check[] = [stalled, inSync, withoutPurpose];

const conditionOf = (status: RuleStatus | undefined, type: ConditionType): Condition | undefined =>
  status?.conditions?.find((condition) => condition.type === type);

/** What has to be fixed, without the pods that report it. */
const causesOf = (status: RuleStatus | undefined): string[] => {
  const stalled = conditionOf(status, 'Stalled');
  if (!status || !stalled) return [];
  return (status.outOfSync ?? [])
    .filter(({ reason }) => reason === stalled.reason)
    .map(({ reason, message }) => `${reason}: ${message}`);
};
