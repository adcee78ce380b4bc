/** What a pass is about to change of the rules, and in which order that is possible. Pure. */
import { checkSpec } from '#shared/compile/check.ts';
import type { LastGood, Verdict } from '#shared/compile/types.ts';
import type { KindDefinition } from '#shared/resources/kind.ts';
import { uciName } from '#shared/uci/names.ts';

export type Before = { spec: unknown; generation: number; revision: string };

/** From what was in force of a rule to what is wanted of it. */
export type Change = {
  uid: string;
  /** `Kind/name`. */
  rule: string;
  /** The revision of the rule as it is now. */
  revision: string;
  /** It is to be removed. */
  isRemoval: boolean;
  /** What was in force; null: nothing. */
  before: Before | null;
  /** `Kind/name` of the rules that it refers to. */
  needs: readonly string[];
};

/** `confirmedAt`: undefined until it is written. */
export type Watched = Change & { confirmedAt: number | undefined };

/** `lastGood`: what is in force. */
export const changesIn = (
  verdicts: readonly Verdict[],
  lastGood: LastGood,
  kinds: readonly KindDefinition[],
): readonly Change[] =>
  verdicts.flatMap((verdict): Change[] => {
    const { rule, revision } = verdict;
    const { uid, name } = rule.metadata;
    const before = lastGood.get(uid) ?? null;
    const isRemoval = verdict.verdict === 'unwanted';
    const isChanged = isRemoval ? before !== null : before?.revision !== revision;
    if (!isChanged || (verdict.verdict !== 'wanted' && !isRemoval)) return [];
    const kind = kinds.find((one) => one.kind === rule.kind);
    const checked = kind && checkSpec(kind, rule.spec);
    const references = checked && 'spec' in checked ? (kind.references?.(checked.spec) ?? []) : [];
    const needs = references.map((reference) => keyOf(reference.kind, reference.name));
    return [{ uid, rule: keyOf(rule.kind, name), revision, isRemoval, before, needs }];
  });

/** References may have the form that names have on OpenWRT. */
const keyOf = (kind: string, name: string): string => `${kind}/${uciName(name)}`;

/** A rule that others need is created before them, and removed after them. */
export const inOrder = (changes: readonly Change[]): readonly Change[] => [
  ...byNeed(changes.filter(({ isRemoval }) => !isRemoval)),
  ...byNeed(changes.filter(({ isRemoval }) => isRemoval)).toReversed(),
];

const byNeed = (changes: readonly Change[]): readonly Change[] => {
  const byRule = new Map(changes.map((change) => [change.rule, change]));
  const ordered = new Set<Change>();
  const entered = new Set<Change>();
  const add = (change: Change): void => {
    if (entered.has(change)) return;
    entered.add(change);
    for (const need of change.needs) {
      const needed = byRule.get(need);
      if (needed !== undefined) add(needed);
    }
    ordered.add(change);
  };
  changes.forEach(add);
  return [...ordered];
};
