/**
 * Which CRs stay in force although they are being deleted: those that a CR which stays refers to. A function of the CRs
 * alone, so that every agent and the coordinator come to the same answer.
 */
import type { Reference } from '../kinds/kind.ts';
import type { RuleObject } from '../kube/objects.ts';
import { uciName } from '../uci/names.ts';
import { referencesOf } from './check.ts';

/** By uid of the CR that is being deleted: a CR that keeps it. Empty when nothing is kept. */
export const keptInUse = (
  rules: readonly RuleObject[],
  refersTo: (rule: RuleObject) => readonly Reference[] = referencesOf,
): ReadonlyMap<string, RuleObject> => {
  const kept = new Map<string, RuleObject>();
  const leaving = new Map<string, RuleObject[]>();
  for (const rule of rules.filter(isBeingDeleted)) {
    const key = keyOf(rule.kind, rule.metadata.name);
    leaving.set(key, [...(leaving.get(key) ?? []), rule]);
  }
  if (leaving.size === 0) return kept;

  const staying = rules.filter((rule) => !isBeingDeleted(rule));
  // What is kept keeps what it refers to itself: the list grows while it is walked.
  for (const user of staying) {
    for (const { kind, name } of refersTo(user)) {
      for (const rule of leaving.get(keyOf(kind, name)) ?? []) {
        if (kept.has(rule.metadata.uid)) continue;
        kept.set(rule.metadata.uid, user);
        staying.push(rule);
      }
    }
  }
  return kept;
};

export const isBeingDeleted = ({ metadata }: RuleObject): boolean =>
  metadata.deletionTimestamp !== undefined;

/** CR names that OpenWRT cannot tell apart are one. */
export const keyOf = (kind: string, name: string): string => `${kind}/${uciName(name)}`;
