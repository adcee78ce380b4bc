/**
 * Which Events a change of status is worth: what an operator has to fix, and that the problem has
 * ended. A cause is reported once, however many pods come to it one after the other; a pod that
 * goes away and comes back causes no Events of its rules.
 */
import type { RecordedEvent } from '#shared/kube/events.ts';
import type { Decision } from '../../rule-status/deletion.ts';
import { describePods } from '../../rule-status/wording.ts';
import type { Condition, ConditionType, RuleStatus } from '#shared/protocol/status.ts';

export type Announcement = Pick<RecordedEvent, 'type' | 'reason' | 'message' | 'once'>;

/** What may be announced: the status of any kind of rule. */
export type Announced = Pick<
  RuleStatus,
  'appliedVersion' | 'conditions' | 'drift' | 'inSync' | 'outOfSync'
>;

/**
 * `applied`: the version that is known to have been on all pods. `told`: causes that were announced
 * since the rule was last in sync.
 */
type Before = {
  status: Announced | undefined;
  applied: string | undefined;
  told: ReadonlySet<string>;
};
type Check = (now: Announced, before: Before) => Announcement | undefined;

/** Remembered of one rule. */
const MAX_CAUSES = 20;

export class Announcer {
  /** By the rule's uid: the reason that was last given for a deletion that takes long. */
  readonly #blocked = new Map<string, string>();
  /** By the rule's uid: a status that is out of sync does not show it. */
  readonly #applied = new Map<string, string>();
  readonly #told = new Map<string, Set<string>>();

  announcements(
    uid: string,
    before: Announced | undefined,
    now: Announced,
  ): readonly Announcement[] {
    const applied = before?.appliedVersion ?? this.#applied.get(uid);
    if (applied !== undefined) this.#applied.set(uid, applied);
    const told = this.#told.get(uid) ?? new Set();
    const said = checks
      .map((check) => check(now, { status: before, applied, told }))
      .filter((each) => each !== undefined);
    const causes = now.inSync ? [] : [...told, ...causesOf(now)];
    if (causes.length > 0) this.#told.set(uid, new Set(causes.slice(-MAX_CAUSES)));
    else this.#told.delete(uid);
    return said;
  }

  /** A deletion takes longer than others, as its status says: each reason once. */
  blocked(uid: string, { conditions, message }: RuleStatus = {}): Announcement | undefined {
    const reason = conditions?.find(({ type }) => type === 'Removed')?.reason;
    if (message === undefined || reason === undefined || this.#blocked.get(uid) === reason)
      return undefined;
    this.#blocked.set(uid, reason);
    return { type: 'Warning', reason: 'RemovalBlocked', message };
  }

  /** The rule is gone. */
  forget(uid: string): void {
    this.#blocked.delete(uid);
    this.#applied.delete(uid);
    this.#told.delete(uid);
  }
}

/** What the deletion of a rule has left on its pods, at the end of it. */
export const tunnelsLeftUp = ({
  remarks,
  candidates,
}: Pick<Decision, 'remarks' | 'candidates'>): Announcement | undefined =>
  remarks.length === 0
    ? undefined
    : { type: 'Warning', reason: 'TunnelsLeftUp', message: describePods(remarks, candidates) };

const stalled: Check = (now, before) => {
  const condition = conditionOf(now, 'Stalled');
  if (!condition) return undefined;
  const known = new Set([...before.told, ...causesOf(before.status)]);
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

const drifted: Check = ({ drift }, before) => {
  if (drift === undefined || drift.lastTime === before.status?.drift?.lastTime) return undefined;
  const message = `another user or program changed section ${drift.section} on OpenWRT; the agent has put it back`;
  return { type: 'Warning', reason: 'DriftRepaired', message };
};

const checks: readonly Check[] = [stalled, inSync, withoutPurpose, drifted];

const conditionOf = (status: Announced | undefined, type: ConditionType): Condition | undefined =>
  status?.conditions?.find((condition) => condition.type === type);

/** What has to be fixed, without the pods that report it. */
const causesOf = (status: Announced | undefined): string[] => {
  const stalled = conditionOf(status, 'Stalled');
  if (!status || !stalled) return [];
  return (status.outOfSync ?? [stalled])
    .filter(({ reason }) => reason === stalled.reason)
    .map(({ reason, message }) => `${reason}: ${message}`);
};
