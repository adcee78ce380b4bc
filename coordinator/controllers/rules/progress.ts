/**
 * When a status that has changed is written: at once when the rule is in sync or not any more, when
 * an operator has to change something, or when there is no pod to wait for. What lies between, pod
 * by pod, waits a little, and mostly for the end: then one change of a rule is one write, however
 * many pods have it.
 */
import type { RuleStatus } from '#shared/protocol/status.ts';

/** Between what has changed and the write of it, while more is to come. */
const PROGRESS_MS = 2_000;

export class Progress {
  /** Since when something is known that was not written, by the rule's uid; monotonic ms. */
  readonly #since = new Map<string, number>();

  /** Milliseconds that the write of `now` has time. */
  waitMs(
    uid: string,
    { before, now }: { before: RuleStatus | undefined; now: RuleStatus },
    monotonic: number,
  ): number {
    if (!isProgress(before, now)) return 0;
    const since = this.#since.get(uid) ?? monotonic;
    this.#since.set(uid, since);
    return Math.max(0, since + PROGRESS_MS - monotonic);
  }

  /** It is written, or there is nothing to write. */
  settle(uid: string): void {
    this.#since.delete(uid);
  }
}

export const isProgress = (before: RuleStatus | undefined, now: RuleStatus): boolean => {
  const sameGeneration = before?.observedGeneration === now.observedGeneration;
  if (now.inSync || (before?.inSync && sameGeneration))
    return sameGeneration && now.inSync === before?.inSync;
  const stalled = stalledOf(now);
  if (stalled !== undefined) return sameGeneration && stalled === stalledOf(before);
  return (now.pods?.live ?? 0) > 0;
};

const stalledOf = (status: RuleStatus | undefined): string | undefined =>
  status?.conditions?.find(({ type }) => type === 'Stalled')?.reason;
