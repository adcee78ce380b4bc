/**
 * Which rule each section of ours was made for, and which deleted rules are gone, as far as this
 * process knows: so that what is left of one rule delays no other, and a removed rule stays
 * reported as removed while its sections are gone. After a restart the first pass learns it again;
 * a section whose rule is not known stands for all rules of its package. A rule that has left the
 * list, as one does that was given another purpose, is reported until nothing of it is there: it
 * may be deleted before that, and the coordinator must know which pod has it.
 */
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
  let noted: readonly Verdict[] = [];
  let authors: ReadonlyMap<string, string> = new Map();
  let removed: ReadonlySet<string> = new Set();
  let listed: ReadonlyMap<string, Verdict> = new Map();
  let leaving: ReadonlyMap<string, Verdict> = new Map();
  return {
    note: (verdicts) => {
      if (noted.length === verdicts.length && noted.every((one, at) => one === verdicts[at]))
        return;
      noted = verdicts;
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
      leaving = new Map([...leaving].filter(([uid]) => !uids.has(uid)));
    },
    wasRemoved: (uid) => removed.has(uid),
  };
};

const byUid = (verdicts: readonly Verdict[]): ReadonlyMap<string, Verdict> =>
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
