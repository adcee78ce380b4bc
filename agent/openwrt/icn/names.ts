/**
 * What objects that ICN's controller made are called here. REST finds an object by the rule's name,
 * `-` and `.` included, and cannot rename it: it keeps its name there until it is written anew, and
 * goes by ours everywhere else. Known to this process only.
 */
import type { UciDelta, UciPackage } from '#shared/uci/model.ts';
import type { UciRename } from '../driver.ts';

export type ObjectNames = {
  add: (renames: readonly UciRename[]) => void;
  /** Packages as listed just now, by our names. */
  toOurs: (listed: ReadonlyMap<string, UciPackage>) => ReadonlyMap<string, UciPackage>;
  /** What goes, by the names that REST knows; what comes has ours. */
  toTheirs: (delta: UciDelta) => UciDelta;
  /** By package. */
  namesToOurs: (sets: SectionNames) => SectionNames;
};

type SectionNames = ReadonlyMap<string, ReadonlySet<string>>;

export const createObjectNames = (): ObjectNames => {
  /** By package: theirs -> ours. */
  let known: ReadonlyMap<string, ReadonlyMap<string, string>> = new Map();
  const inPackage = (name: string): ReadonlyMap<string, string> => known.get(name) ?? new Map();
  const keep = (name: string, names: Iterable<readonly [string, string]>): void => {
    known = new Map([...known, [name, new Map(names)]]);
  };
  const ourNames = (name: string, { sections }: UciPackage): UciPackage => {
    const there = new Set(sections.map((section) => section.name));
    // What was written anew has our name on REST, too.
    keep(
      name,
      [...inPackage(name)].filter(([theirs, ours]) => there.has(theirs) && !there.has(ours)),
    );
    const ours = inPackage(name);
    return {
      name,
      sections: sections.map((section) => ({
        ...section,
        name: ours.get(section.name) ?? section.name,
      })),
    };
  };
  return {
    add: (renames) => {
      for (const { package: name, section, name: ours } of renames)
        keep(name, [...inPackage(name), [section.name, ours]]);
    },
    toOurs: (listed) =>
      new Map([...listed].map(([name, content]) => [name, ourNames(name, content)])),
    toTheirs: (delta) => {
      const theirs = new Map([...inPackage(delta.package)].map(([their, our]) => [our, their]));
      return { ...delta, remove: delta.remove.map((name) => theirs.get(name) ?? name) };
    },
    namesToOurs: (sets) =>
      new Map(
        [...sets].map(([name, names]) => [
          name,
          new Set([...names].map((each) => inPackage(name).get(each) ?? each)),
        ]),
      ),
  };
};
