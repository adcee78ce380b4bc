/** Which rules a report that was accepted concerns. */
import type { Acceptance } from './reports.ts';

export type News =
  | { of: 'nothing' }
  /** Uids. */
  | { of: 'rules'; rules: ReadonlySet<string> }
  /** All rules of the pod and its last two reports; `rules`: uids of those with another state. */
  | { of: 'pod'; rules: ReadonlySet<string> };

/** `countsAgain`: the report counts, and did not before, also for rules without news. */
export const newsOf = (acceptance: Acceptance, countsAgain: boolean): News => {
  const rules = acceptance.outcome === 'news' ? acceptance.rules : new Set<string>();
  if (countsAgain) return { of: 'pod', rules };
  if (acceptance.outcome !== 'news') return { of: 'nothing' };
  return { of: acceptance.whole ? 'pod' : 'rules', rules };
};
