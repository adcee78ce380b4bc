/** Whether OpenWRT has what was wanted of a package: what a delta names, and all others. Pure. */
import { sectionsEqual } from '#shared/uci/delta.ts';
import type { UciDelta, UciPackage, UciSection } from '#shared/uci/model.ts';
import type { WritePath } from './write-path.ts';

/**
 * Names from the delta whose sections are not as expected; of those that are at another place than
 * expected only where that is all. Others' sections may change meanwhile.
 */
export const sectionsDiffering = (
  observed: UciPackage,
  expected: UciPackage,
  delta: UciDelta,
): string[] => {
  const names = namesIn(delta);
  const isMeant = ({ name, anonymous }: UciSection): boolean => !anonymous && names.has(name);
  const found = observed.sections.filter(isMeant);
  const wanted = expected.sections.filter(isMeant);
  const there = new Map(found.map((section) => [section.name, section]));
  const asked = new Set(wanted.map(({ name }) => name));
  const isThere = (section: UciSection): boolean => {
    const same = there.get(section.name);
    return same !== undefined && sectionsEqual(same, section);
  };
  const wrong = wanted.filter((section) => !isThere(section));
  const left = found.filter(({ name }) => !asked.has(name));
  const moved = wanted.filter(({ name }, place) => found[place]?.name !== name);
  const all = wrong.length + left.length > 0 ? [...wrong, ...left] : moved;
  return all.map(({ name }) => name);
};

export const namesIn = ({ remove, set, append }: UciDelta): ReadonlySet<string> =>
  new Set([...remove, ...set.map(({ after }) => after.name), ...append.map(({ name }) => name)]);

/** Sections without one of these names; anonymous ones by what they hold. */
export const othersIn = ({ sections }: UciPackage, names: ReadonlySet<string>): UciSection[] =>
  sections.filter(({ name, anonymous }) => anonymous || !names.has(name)).map(nameless);

/** Whether the sections that the delta does not name are the same; anonymous ones by content. */
export const othersEqual = (
  { inPassing }: Pick<WritePath, 'inPassing'>,
  observed: UciPackage,
  expected: UciPackage,
  delta: UciDelta,
): boolean => {
  const names = new Set([...namesIn(delta), ...inPassing]);
  const isAside = (section?: UciSection): boolean =>
    section?.anonymous === false && names.has(section.name);
  // Most often all the others are the same objects in the same places.
  const areSame = observed.sections.every((section, at) => {
    const other = expected.sections[at];
    return section === other || (isAside(section) && isAside(other));
  });
  if (areSame && observed.sections.length === expected.sections.length) return true;
  const wanted = othersIn(expected, names);
  const found = othersIn(observed, names);
  return (
    found.length === wanted.length &&
    wanted.every((section, at) => {
      const there = found[at];
      return there !== undefined && sectionsEqual(there, section);
    })
  );
};

export const nameless = (section: UciSection): UciSection =>
  section.anonymous ? { ...section, name: '' } : section;
