/**
 * How often the status of one rule is written: a few times at once, then once a second, so that a rule that flaps does not keep the API
 * server busy. That a rule is no longer in sync is never delayed; that it is in sync again counts.
 */
import type { RuleStatus } from '#shared/protocol/status.ts';

const AT_ONCE = 3;
const INTERVAL_MS = 1_000;

export class StatusPace {
  /** By the rule's uid, when the writes so far would have been made one by one; monotonic milliseconds. */
  readonly #until = new Map<string, number>();

  /** Milliseconds until `now` may be written. */
  waitMs(
    uid: string,
    { before, now }: { before: RuleStatus | undefined; now: RuleStatus },
    monotonic: number,
  ): number {
    if (before?.inSync === true && !now.inSync) return 0;
    const until = this.#until.get(uid) ?? -Infinity;
    return Math.max(0, until - (AT_ONCE - 1) * INTERVAL_MS - monotonic);
  }

  written(uid: string, monotonic: number): void {
    this.#until.set(uid, Math.max(this.#until.get(uid) ?? -Infinity, monotonic) + INTERVAL_MS);
  }

  /** The rule is gone. */
  forget(uid: string): void {
    this.#until.delete(uid);
  }
}
