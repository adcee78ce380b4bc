/**
 * Which CRs stay in force although they are being deleted: those that a CR which stays refers to. A
 * function of the CRs alone, so that every agent and the coordinator come to the same answer.
 */
import type { Reference } from '../resources/kind.ts';
import type { RuleObject } from '../kube/objects.ts';
import { uciName } from '../uci/names.ts';
import { referencesOf } from './check.ts';

/** By uid of the CR that is being deleted: a CR that keeps it. Empty when nothing is kept. */
export const keptInUse = (
  rules: readonly RuleObject[],
  refersTo: (rule: RuleObject) => readonly Reference[] = referencesOf,
): ReadonlyMap<string, RuleObject> => {
  const kept = new Map<string, RuleObject>();
  if (!rules.some(isBeingDeleted)) return kept;

  // By name, so that it is always the same one that keeps a CR, in whatever order they come.
  const ordered = [...rules].sort((a, b) => compare(nameOf(a), nameOf(b)));
  const leaving = Map.groupBy(ordered.filter(isBeingDeleted), ({ kind, metadata }) =>
    keyOf(kind, metadata.name),
  );
  const staying = ordered.filter((rule) => !isBeingDeleted(rule));
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

const nameOf = ({ kind, metadata }: RuleObject): string => `${kind}/${metadata.name}`;

/** By code units: the same on every machine, whatever its locale. */
export const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** CR names that OpenWRT cannot tell apart are one. */
export const keyOf = (kind: string, name: string): string => `${kind}/${uciName(name)}`;
