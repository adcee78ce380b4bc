/** Which rules a report that was accepted concerns. */
import type { Acceptance } from './reports.ts';

export type News =
  | { of: 'nothing' }
  /** Uids. */
  | { of: 'rules'; rules: ReadonlySet<string> }
  /** All rules of the pod, and those in its report or in the one before; `rules`: uids of those whose state is another. */
  | { of: 'pod'; rules: ReadonlySet<string> };

/** `countsAgain`: what the report says counts, and did not before, also of rules of which it says nothing new. */
export const newsOf = (acceptance: Acceptance, countsAgain: boolean): News => {
  const rules = acceptance.outcome === 'news' ? acceptance.rules : new Set<string>();
  if (countsAgain) return { of: 'pod', rules };
  if (acceptance.outcome !== 'news') return { of: 'nothing' };
  return { of: acceptance.whole ? 'pod' : 'rules', rules };
};
