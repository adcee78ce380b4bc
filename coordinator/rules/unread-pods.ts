/** The pods of which a container has started since their agents looked at OpenWRT: a heartbeat that says that they have is news of all their rules. */
import type { Target } from '../cnf/target.ts';
import type { Reports } from '../reports/reports.ts';
import { unreadSince } from '../verdict/unread.ts';

export class UnreadPods {
  readonly #reports: Pick<Reports, 'of'>;
  readonly #uids = new Set<string>();

  constructor(reports: Pick<Reports, 'of'>) {
    this.#reports = reports;
  }

  /** The pod has changed, or its agent has reported. True when the agent has looked by now, and had not before. */
  note(target: Target): boolean {
    const report = this.#reports.of(target.uid);
    if (report === undefined || unreadSince(report, target) === undefined)
      return this.#uids.delete(target.uid);
    this.#uids.add(target.uid);
    return false;
  }

  /** The pod is gone. */
  forget(uid: string): void {
    this.#uids.delete(uid);
  }
}
