/**
 * The pods whose reports do not count: a container has started since their agents looked at
 * OpenWRT, or since they were sent. A report that counts after one that did not concerns all rules
 * of the pod, whatever else it says.
 */
import type { CnfPod } from '../../sources/cnf-pod.ts';
import type { Reports } from '../../reports/reports.ts';
import { isOfEarlierRun } from '../../rule-status/earlier-run.ts';
import { unreadSince } from '../../rule-status/unread.ts';

export class UnreadPods {
  readonly #reports: Pick<Reports, 'of'>;
  readonly #uids = new Set<string>();

  constructor(reports: Pick<Reports, 'of'>) {
    this.#reports = reports;
  }

  /** The pod has changed, or its agent has reported. True when its report begins to count. */
  note(pod: CnfPod): boolean {
    const report = this.#reports.of(pod.uid);
    const counts =
      report === undefined ||
      (unreadSince(report, pod) === undefined && !isOfEarlierRun(report, pod.agent));
    if (counts) return this.#uids.delete(pod.uid);
    this.#uids.add(pod.uid);
    return false;
  }

  /** The pod is gone. */
  forget(uid: string): void {
    this.#uids.delete(uid);
  }
}
