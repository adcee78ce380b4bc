/** What a report that was accepted is news of. */
import type { Acceptance } from './reports.ts';

export type News =
  | { of: 'nothing' }
  /** Uids. */
  | { of: 'rules'; rules: ReadonlySet<string> }
  /** All rules of the pod, and those that its report speaks or spoke of; `rules`: uids of those of which it says something else. */
  | { of: 'pod'; rules: ReadonlySet<string> };

/** `countsAgain`: what the report says counts, and did not before, also of rules of which it says nothing new. */
export const newsOf = (acceptance: Acceptance, countsAgain: boolean): News => {
  const rules = acceptance.outcome === 'news' ? acceptance.rules : new Set<string>();
  if (countsAgain) return { of: 'pod', rules };
  if (acceptance.outcome !== 'news') return { of: 'nothing' };
  return { of: acceptance.whole ? 'pod' : 'rules', rules };
};
