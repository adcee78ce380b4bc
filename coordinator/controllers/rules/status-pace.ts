/**
 * How often the status of one rule is written: a few times at once, then once a second, so that a
 * rule that flaps does not keep the API server busy. That a rule is no longer in sync is never
 * delayed; that it is in sync again counts. What says of its tunnels alone is written once a minute
 * then, since a tunnel can flap for ever.
 */
import { isDeepStrictEqual } from 'node:util';
import type { RuleStatus } from '#shared/protocol/status.ts';

const AT_ONCE = 3;
const INTERVAL_MS = 1_000;
const TUNNELS_MS = 60_000;

type Change = { before: RuleStatus | undefined; now: RuleStatus };

export class StatusPace {
  /** By the rule's uid, when the writes would have been made one by one; monotonic ms. */
  readonly #until = new Map<string, number>();
  /** The same of those that are about tunnels alone. */
  readonly #ofTunnels = new Map<string, number>();

  /** Milliseconds until `now` may be written. */
  waitMs(uid: string, change: Change, monotonic: number): number {
    const { before, now } = change;
    if (before?.inSync === true && !now.inSync) return 0;
    const [until, intervalMs] = this.#counted(change);
    return Math.max(0, (until.get(uid) ?? -Infinity) - (AT_ONCE - 1) * intervalMs - monotonic);
  }

  written(uid: string, change: Change, monotonic: number): void {
    const [until, intervalMs] = this.#counted(change);
    until.set(uid, Math.max(until.get(uid) ?? -Infinity, monotonic) + intervalMs);
  }

  /** The rule is gone. */
  forget(uid: string): void {
    this.#until.delete(uid);
    this.#ofTunnels.delete(uid);
  }

  #counted({ before, now }: Change): [until: Map<string, number>, intervalMs: number] {
    const isOfTunnels = isDeepStrictEqual(before && withoutTunnels(before), withoutTunnels(now));
    return isOfTunnels ? [this.#ofTunnels, TUNNELS_MS] : [this.#until, INTERVAL_MS];
  }
}

const withoutTunnels = ({ conditions, ...status }: RuleStatus): object => ({
  ...status,
  conditions: conditions?.filter(({ type }) => type !== 'TunnelUp'),
});
