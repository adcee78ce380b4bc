/**
 * When the agent saw changes of rules, and when OpenWRT had them, for a coordinator that makes
 * traces. Nothing is kept where none wants it, and of no more than a number of changes at a time.
 */
import type { KubeObject } from '#shared/kube/objects.ts';
import type { ChangeTimes } from '#shared/protocol/report.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import { isInForce, type RuleStates } from '../reconcile/rule-states.ts';

export type ChangeLog = {
  /** A coordinator wants times. To be said again within a minute. */
  want: () => void;
  /** A rule was added or changed. */
  seen: (rule: Pick<KubeObject, 'metadata'>) => void;
  /** A pass begins, with all rules that were seen. */
  begun: () => void;
  stands: (standing: RuleStates) => void;
  /** Changes that OpenWRT has, and that were not reported yet. */
  settled: () => readonly ChangeTimes[];
  reported: (times: readonly ChangeTimes[]) => void;
};

/** Six heartbeats. */
const WANTED_MS = 60_000;
export const MAX_CHANGES = 1_000;

type Open = Pick<ChangeTimes, 'generation' | 'seenAt'> &
  Partial<Pick<ChangeTimes, 'begunAt' | 'compiledAt'>>;

export const createChangeLog = (clock: Pick<Clock, 'now' | 'monotonic'>): ChangeLog => {
  /** By the rule's uid. */
  const open = new Map<string, Open>();
  let settled: ChangeTimes[] = [];
  let wantedAt = -Infinity;
  return {
    want: () => {
      wantedAt = clock.monotonic();
    },
    seen: ({ metadata: { uid, generation = 0 } }) => {
      if (clock.monotonic() - wantedAt > WANTED_MS) {
        open.clear();
        settled = [];
        return;
      }
      if (generation === 0) return;
      open.delete(uid);
      open.set(uid, { generation, seenAt: clock.now() });
      // One that never comes to OpenWRT: it has failed, or is gone.
      const [longestOpen] = open.keys();
      if (open.size > MAX_CHANGES && longestOpen !== undefined) open.delete(longestOpen);
    },
    begun: () => {
      for (const change of open.values()) change.begunAt ??= clock.now();
    },
    stands: (standing) => {
      if (open.size === 0) return;
      const now = clock.now();
      for (const verdict of standing.verdicts) {
        const { uid, generation } = verdict.rule.metadata;
        const change = open.get(uid);
        if (change?.begunAt === undefined || change.generation !== generation) continue;
        change.compiledAt ??= now;
        if (verdict.verdict !== 'wanted' || !isInForce(standing, verdict)) continue;
        open.delete(uid);
        if (settled.length >= MAX_CHANGES) continue;
        const { seenAt, begunAt, compiledAt } = change;
        settled.push({ uid, generation, seenAt, begunAt, compiledAt, appliedAt: now });
      }
    },
    settled: () => settled,
    reported: (times) => {
      settled = settled.filter((change) => !times.includes(change));
    },
  };
};
