/**
 * How long changes of rules take until all pods have them. Nothing is told of a rule whose change
 * was not seen here: it may have waited for days.
 */
import type { RuleStatus } from '#shared/protocol/status.ts';
import type { Rule } from '../../sources/rule.ts';

export class SyncTimes {
  /** Changes that are not in sync yet, by the uid of their rule. */
  readonly #begun = new Map<string, { generation: number; at: number }>();

  /** The rule as it is now; undefined: it is gone. `at`: monotonic milliseconds. */
  see(uid: string, rule: Rule | undefined, at: number): void {
    const isOver = rule?.status?.inSync && rule.status.observedGeneration === rule.generation;
    if (rule === undefined || rule.deletedAt !== undefined || isOver) this.#begun.delete(uid);
    else if (isNews(rule) && this.#begun.get(uid)?.generation !== rule.generation)
      this.#begun.set(uid, { generation: rule.generation, at });
  }

  /**
   * When the change was seen that this status says is in sync. To be asked before it is written:
   * the watch may tell of the write before the answer comes.
   */
  begun({ uid, generation }: Rule, { inSync }: RuleStatus): number | undefined {
    const begun = this.#begun.get(uid);
    return inSync && begun?.generation === generation ? begun.at : undefined;
  }

  /** The status that says so is written. */
  settle(uid: string): void {
    this.#begun.delete(uid);
  }
}

/** No status was written of this generation. */
const isNews = ({ status, generation, purpose }: Rule): boolean =>
  purpose !== undefined && status?.observedGeneration !== generation;
