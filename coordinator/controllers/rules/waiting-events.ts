/**
 * An Event for a rule that waits for something that an operator has to make. It comes late, since
 * rules may be made in any order, and once: a rule that goes on waiting is no news.
 */
import { sentenceOf, type ConditionReason, type Reason } from '#shared/protocol/reasons.ts';
import type { RuleStatus } from '#shared/protocol/status.ts';
import type { Announcement } from './events.ts';

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
