/**
 * Which rule each section of ours was made for, and which deleted rules are gone, as far as this process knows: so that what is left of one
 * rule holds up no other, and what was gone is said to be gone while its sections are. After a restart it is learnt anew by the first
 * pass; a section whose rule is not known stands for all rules of its package.
 */
import { ledgerKey } from '#shared/compile/ownership.ts';
import type { Verdict } from '#shared/compile/types.ts';

export type Authors = {
  /** Sections that are wanted, and for whom. Rules that are not in the list any more are forgotten. */
  note: (verdicts: readonly Verdict[]) => void;
  /** Uid of the rule that `package.section` was last made for. */
  of: (key: string) => string | undefined;
  /** These rules are gone, and no others. */
  settle: (removed: ReadonlySet<string>) => void;
  wasRemoved: (uid: string) => boolean;
};

export const createAuthors = (): Authors => {
  let authors: ReadonlyMap<string, string> = new Map();
  let removed: ReadonlySet<string> = new Set();
  return {
    note: (verdicts) => {
      const uids = new Set(verdicts.map(({ rule }) => rule.metadata.uid));
      const now = verdicts.flatMap(({ rule, sections }) =>
        sections.map((section): [string, string] => [
          ledgerKey(section.package, section.name),
          rule.metadata.uid,
        ]),
      );
      authors = new Map([...[...authors].filter(([, uid]) => uids.has(uid)), ...now]);
    },
    of: (key) => authors.get(key),
    settle: (uids) => {
      removed = uids;
    },
    wasRemoved: (uid) => removed.has(uid),
  };
};
