/**
 * The texts of all Events about rules and the pods of CNFs. Which Events a change of status is
 * worth: what an operator has to fix, and that the problem has ended. A cause is reported once,
 * however many pods come to it one after the other; a pod that goes away and comes back causes no
 * Events of its rules.
 */
import type { RecordedEvent } from '#shared/kube/events.ts';
import { sentenceOf, type ConditionReason, type Reason } from '#shared/protocol/reasons.ts';
import type { Drift, UnreadOthers } from '#shared/protocol/report.ts';
import type { Condition, ConditionType, RuleStatus } from '#shared/protocol/status.ts';
import { few } from '#shared/util/few.ts';
import type { Decision } from '../../rule-status/deletion.ts';
import { describePods } from '../../rule-status/wording.ts';
import type { CnfPod } from '../../sources/cnf-pod.ts';
import { podResource } from '../../sources/workload.ts';

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

const WAITS_MS = 30_000;

const waitingFor: ReadonlySet<string> = new Set<ConditionReason | Reason>([
  'WaitingForCnf',
  'WaitingForReference',
  'WaitingForInterface',
  'WaitingForNetwork',
  'WaitingForDevice',
  'WaitingForSecret',
  'WaitingForPackage',
  'NotResolved',
]);

/**
 * An Event for a rule that waits for something that an operator has to make. It comes late, since
 * rules may be made in any order, and once: a rule that goes on waiting is no news.
 */
export class Waiting {
  /** By the rule's uid: what it waits for and since when, in monotonic milliseconds. */
  readonly #known = new Map<string, { reason: string; since: number; told: boolean }>();

  /** `inMs`: when to look again; undefined: nothing is to be told. */
  look(
    uid: string,
    status: Pick<RuleStatus, 'conditions'>,
    monotonic: number,
  ): { event?: Announcement; inMs: number | undefined } {
    const ready = status.conditions?.find(({ type }) => type === 'Ready');
    if (ready === undefined || !waitingFor.has(ready.reason)) {
      this.forget(uid);
      return { inMs: undefined };
    }
    const { reason } = ready;
    const before = this.#known.get(uid);
    const known = before?.reason === reason ? before : { reason, since: monotonic, told: false };
    this.#known.set(uid, known);
    if (known.told) return { inMs: undefined };
    const inMs = known.since + WAITS_MS - monotonic;
    if (inMs > 0) return { inMs };
    known.told = true;
    const message = ready.message || sentenceOf(reason);
    return { event: { type: 'Warning', reason, message, once: true }, inMs: undefined };
  }

  /** Uids of rules that have waited for long enough to be told of, and are looked at next. */
  due(monotonic: number): string[] {
    return [...this.#known].flatMap(([uid, { since, told }]) =>
      !told && since + WAITS_MS <= monotonic ? [uid] : [],
    );
  }

  /** The rule is gone, or waits no more. */
  forget(uid: string): void {
    this.#known.delete(uid);
  }
}

export const agentMissing = (pod: CnfPod): RecordedEvent => ({
  object: podOf(pod),
  type: 'Warning',
  reason: 'AgentMissing',
  message: `${sentenceOf('AgentMissing')}; re-create it`,
});

export const podNotReady = (pod: CnfPod): RecordedEvent => ({
  object: podOf(pod),
  type: 'Warning',
  reason: 'PodNotReady',
  message: `${pod.notReady}; until the pod is ready, its rules are not in sync`,
});

/** One for each package, whose words are the same when it happens again. */
export const driftRepaired = (pod: CnfPod, drifts: readonly Drift[]): RecordedEvent[] => {
  const emptied = new Set(drifts.flatMap(({ package: name, whole }) => (whole ? [name] : [])));
  const changed = Map.groupBy(
    drifts.filter(({ whole }) => !whole),
    (drift) => drift.package,
  );
  return [
    ...[...emptied].map((name) => packageRestored(pod, name)),
    ...[...changed].map(([name, sections]) => sectionsRestored(pod, name, sections)),
  ];
};

const packageRestored = (pod: CnfPod, name: string): RecordedEvent => ({
  object: podOf(pod),
  type: 'Warning',
  reason: 'DriftRepaired',
  message: `OpenWRT has come back without the agent's sections of package ${name}, as after a restart; the agent has written them again`,
});

const sectionsRestored = (pod: CnfPod, name: string, sections: readonly Drift[]): RecordedEvent => {
  const names = [...new Set(sections.map(({ section }) => section))].sort();
  return {
    object: podOf(pod),
    type: 'Warning',
    reason: 'DriftRepaired',
    message: `another user or program changed package ${name} on OpenWRT (${few(names)}); the agent has put it back`,
  };
};

export const commentsRemoved = (pod: CnfPod, uciPackage: string): RecordedEvent => ({
  object: podOf(pod),
  type: 'Normal',
  reason: 'CommentsRemoved',
  message:
    `the agent's first write of /etc/config/${uciPackage} on OpenWRT has removed the comments in that file, as any ` +
    `\`uci commit\` does; the sections of others are unchanged. Keep notes outside of that file, for example where the ` +
    "CNF's image is built",
  once: true,
});

export const stateFolderUnwritable = (pod: CnfPod, cause: string): RecordedEvent => ({
  object: podOf(pod),
  type: 'Warning',
  reason: 'StateFolderUnwritable',
  message: `${cause}; until that is mended nothing is changed on OpenWRT. The folder is an emptyDir of the pod: free its node's disk, or replace the pod`,
  // Each report says it again.
  once: true,
});

export const sectionsUnread = (
  pod: CnfPod,
  { package: uciPackage, sections }: UnreadOthers,
): RecordedEvent => ({
  object: podOf(pod),
  type: 'Warning',
  reason: 'SectionsUnread',
  message: `the agent cannot tell whether the kernel has what others have put into /etc/config/${uciPackage} on OpenWRT: ${sections}`,
  // Each report says it again.
  once: true,
});

const podOf = ({ namespace, name, uid }: CnfPod): RecordedEvent['object'] => ({
  apiVersion: 'v1',
  kind: podResource.kind,
  metadata: { namespace, name, uid, resourceVersion: '', creationTimestamp: '' },
});
