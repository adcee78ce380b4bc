/** Rules that OpenWRT refused: left out until they change, OpenWRT restarts, or a retry is due. */
import type { RuleObject } from '#shared/kube/objects.ts';
import { createBackoff, type Backoff } from '#shared/runtime/backoff.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import { oncePerNames } from '#shared/util/memo.ts';

/** Another rule or section may have been the conflict's other half. A retry costs two reloads. */
const FIRST_RETRY_MS = 60_000;
const LAST_RETRY_MS = 1_800_000;

export type Refused = { revision: string; message: string };

export type Refusals = {
  /** By uid. */
  current: () => ReadonlyMap<string, Refused>;
  /**
   * `retry` false: trying it takes something out of force; a change of the rule or a restart ends
   * it.
   */
  add: (uid: string, refused: Refused, options: { retry: boolean }) => void;
  /** Drops those of rules that have changed or gone, or of an OpenWRT that was another. */
  review: (rules: readonly RuleObject[], incarnation: string) => void;
  /** Releases those that are due for another try; returns whether there were any. */
  releaseDue: () => boolean;
};

type Entry = Refused & { retryAt: number; backoff: Backoff; released: boolean };

export const createRefusals = (
  clock: Clock,
  revisionOf: (rule: RuleObject) => string,
): Refusals => {
  const entries = new Map<string, Entry>();
  let incarnation = '';
  return {
    current: () => new Map([...entries].filter(([, entry]) => !entry.released)),
    add: (uid, refused, { retry }) => {
      const backoff =
        entries.get(uid)?.backoff ??
        createBackoff({ baseMs: FIRST_RETRY_MS, maxMs: LAST_RETRY_MS });
      const retryAt = retry ? clock.monotonic() + backoff.next() : Infinity;
      entries.set(uid, { ...refused, retryAt, backoff, released: false });
    },
    review: (rules, now) => {
      const byUid = oncePerNames(() => new Map(rules.map((rule) => [rule.metadata.uid, rule])));
      for (const [uid, { revision }] of entries) {
        const rule = byUid().get(uid);
        const same = rule !== undefined && revisionOf(rule) === revision && incarnation === now;
        if (!same) entries.delete(uid);
      }
      incarnation = now;
    },
    releaseDue: () => {
      const due = [...entries.values()].filter(
        ({ retryAt, released }) => !released && retryAt <= clock.monotonic(),
      );
      for (const entry of due) entry.released = true;
      return due.length > 0;
    },
  };
};
