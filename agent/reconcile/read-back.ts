/**
 * What a read-back lacks once, another writer may have taken out since it was written. A rule is to
 * blame for what the next read-back of the same pass lacks as well; until then the change is made
 * again at once.
 */
import type { Rejected } from './pass-state.ts';

export type ReadBacks = {
  /** What a rule is to blame for; undefined where another try has to tell. */
  toBlame: (rejected: Rejected) => Rejected | undefined;
};

export const createReadBacks = (): ReadBacks => {
  let last: Rejected | undefined;
  return {
    toBlame: (rejected) => {
      const before = last;
      last = rejected;
      if (rejected.perhapsOthers !== true) return rejected;
      if (before?.perhapsOthers !== true || before.package !== rejected.package) return undefined;
      const sections = rejected.sections.filter((name) => before.sections.includes(name));
      const noneNamed = before.sections.length === 0 && rejected.sections.length === 0;
      return sections.length > 0 || noneNamed ? { ...rejected, sections } : undefined;
    },
  };
};
