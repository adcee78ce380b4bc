/**
 * Which rule each section of ours was made for, and which deleted rules are gone, as far as this
 * process knows: so that what is left of one rule delays no other, and a removed rule stays
 * reported as removed while its sections are gone. After a restart the first pass learns it again;
 * a section whose rule is not known stands for all rules of its package. A rule that has left the
 * list, as one does that was given another purpose, is reported until nothing of it is there: it
 * may be deleted before that, and the coordinator must know which pod has it.
 */
import { isDeepStrictEqual } from 'node:util';
import { ledgerKey } from '#shared/compile/ownership.ts';
import type { Verdict } from '#shared/compile/types.ts';

export type Authors = {
  /** All rules, with the sections that are wanted for them. */
  note: (verdicts: readonly Verdict[]) => void;
  /** Uid of the rule that `package.section` was last made for. */
  of: (key: string) => string | undefined;
  /** For each rule that has left the list and was not removed yet: that it is unwanted. */
  leaving: () => readonly Verdict[];
  /** These rules are gone, and no others. */
  settle: (removed: ReadonlySet<string>) => void;
  wasRemoved: (uid: string) => boolean;
};

export const createAuthors = (): Authors => {
  /** The last ones: a pass plans several times. */
  let noted: readonly Verdict[] | undefined;
  let authors: ReadonlyMap<string, string> = new Map();
  let removed: ReadonlySet<string> = new Set();
  let listed = new Map<string, Verdict>();
  let leaving: ReadonlyMap<string, Verdict> = new Map();
  return {
    note: (verdicts) => {
      const before = noted;
      noted = verdicts;
      if (before && areAlike(before, verdicts)) {
        for (const [at, verdict] of verdicts.entries())
          if (verdict !== before[at]) listed.set(verdict.rule.metadata.uid, verdict);
        return;
      }
      const now = byUid(verdicts);
      const left = [...listed].filter(([uid]) => !removed.has(uid));
      const unlisted = [...leaving, ...left].filter(([uid]) => !now.has(uid));
      [listed, leaving] = [now, new Map(unlisted)];
      const wanted = verdicts.flatMap(({ rule, sections }) =>
        sections.map((section): [string, string] => [
          ledgerKey(section.package, section.name),
          rule.metadata.uid,
        ]),
      );
      const isKnown = (uid: string): boolean => listed.has(uid) || leaving.has(uid);
      authors = new Map([...[...authors].filter(([, uid]) => isKnown(uid)), ...wanted]);
    },
    of: (key) => authors.get(key),
    leaving: () => [...leaving.values()].map(unwanted),
    settle: (uids) => {
      removed = uids;
      if (leaving.size === 0) return;
      leaving = new Map([...leaving].filter(([uid]) => !uids.has(uid)));
      // So that the next ones forget what was made for these.
      noted = undefined;
    },
    wasRemoved: (uid) => removed.has(uid),
  };
};

/** The same rules with sections of the same names, so that no section has another author. */
const areAlike = (some: readonly Verdict[], others: readonly Verdict[]): boolean =>
  some.length === others.length &&
  some.every((one, at) => {
    const other = others[at];
    if (one === other) return true;
    const isOfSame = one.rule.metadata.uid === other?.rule.metadata.uid;
    return isOfSame && isDeepStrictEqual(one.sections, other.sections);
  });

const byUid = (verdicts: readonly Verdict[]): Map<string, Verdict> =>
  new Map(verdicts.map((verdict) => [verdict.rule.metadata.uid, verdict]));

const unwanted = ({ rule, revision }: Verdict): Verdict => ({
  rule,
  revision,
  generationInForce: undefined,
  verdict: 'unwanted',
  reason: 'Removing',
  message: '',
  sections: [],
});
