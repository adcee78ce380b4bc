/**
 * What fw4 has to read to make the nft rules of a few changed sections: all that rules refer to
 * (zones, sets, defaults), the sections themselves, and neighbours that show where in a chain they
 * belong. Its time grows with each rule, so an excerpt of 1,000 takes a fiftieth. Pure.
 */
import { sectionsEqual } from '#shared/uci/delta.ts';
import type { UciPackage, UciSection } from '#shared/uci/model.ts';
import { own } from '#shared/util/own.ts';

export type Excerpt = {
  /** Names of the sections that are added, changed or removed. */
  changed: ReadonlySet<string>;
  before: UciPackage;
  after: UciPackage;
};

/** What fw4 makes one or more rules of, each by itself, in the order of the file. */
const ONE_TO_ONE: ReadonlySet<string> = new Set(['rule', 'redirect']);
/** Types whose names are comments of rules. */
const NAMING: ReadonlySet<string> = new Set([...ONE_TO_ONE, 'nat', 'forwarding']);
/** Each costs fw4 a millisecond, twice; a reload is worth it from some hundred. */
const MOST_CHANGED = 50;

/** What no rule refers to, and there may be a thousand of. */
const isMany = ({ type }: UciSection): boolean => ONE_TO_ONE.has(type) || type === 'nat';
const isOneToOne = ({ type }: UciSection): boolean => ONE_TO_ONE.has(type);
/** An anonymous section has another id in another reading. */
export const keyOf = ({ name, anonymous, type, options }: UciSection): string =>
  anonymous ? JSON.stringify([type, options]) : name;

/** The package as it was and as it is; undefined where only a reload puts the change into force. */
export const excerptOf = (before: UciPackage, after: UciPackage): Excerpt | undefined => {
  const changed = changedIn(before, after);
  if (changed.size === 0 || changed.size > MOST_CHANGED) return undefined;
  const isStaying = (section: UciSection): boolean => !changed.has(keyOf(section));
  if (!isSameOrder(before.sections, after.sections)) return undefined;
  const versions = [before, after].flatMap(({ sections }) =>
    sections.filter((section) => !isStaying(section)),
  );
  if (!versions.every(isOneToOne) || reloadsAlways(after)) return undefined;
  const shared = namesShared([before, after]);
  if (versions.some((section) => shared.has(givenName(section) ?? ''))) return undefined;
  const eligible = (section: UciSection): boolean =>
    isStaying(section) && isPlain(section) && !shared.has(givenName(section) ?? '');
  const neighbours = new Set(
    [before, after].flatMap(({ sections }) => neighboursIn(sections, changed, eligible)),
  );
  const of = ({ name, sections }: UciPackage): UciPackage => ({
    name,
    sections: sections.filter(
      (one) => !isMany(one) || changed.has(keyOf(one)) || neighbours.has(keyOf(one)),
    ),
  });
  return { changed, before: of(before), after: of(after) };
};

const changedIn = (before: UciPackage, after: UciPackage): ReadonlySet<string> => {
  const differing = (these: UciPackage, those: UciPackage): string[] => {
    const there = new Map(those.sections.map((section) => [keyOf(section), section]));
    return these.sections.flatMap((section) => {
      const other = there.get(keyOf(section));
      const isSame = section.anonymous
        ? other !== undefined
        : other && sectionsEqual(section, other);
      return isSame === true ? [] : [keyOf(section)];
    });
  };
  return new Set([...differing(before, after), ...differing(after, before)]);
};

/** Whether what is in both has the same order, by type, as fw4 reads it. */
const isSameOrder = (these: readonly UciSection[], those: readonly UciSection[]): boolean => {
  const orderOf = (sections: readonly UciSection[], others: readonly UciSection[]): string => {
    const keys = new Set(others.map(keyOf));
    const both = sections.filter((section) => keys.has(keyOf(section)));
    const ordered = both.toSorted((a, b) => (a.type < b.type ? -1 : Number(a.type > b.type)));
    return JSON.stringify(ordered.map((section) => [section.type, keyOf(section)]));
  };
  return orderOf(these, those) === orderOf(those, these);
};

/** Others' text in the table, and a flowtable, are more than rules. */
const reloadsAlways = ({ sections }: UciPackage): boolean =>
  sections.some(
    ({ type, options }) =>
      type === 'include' ||
      options['flow_offloading'] !== undefined ||
      options['flow_offloading_hw'] !== undefined,
  );

const givenName = ({ options }: UciSection): string | undefined =>
  typeof options['name'] === 'string' ? options['name'] : undefined;

/** Without a name of its own, fw4 names a section by its id or its place. */
const isPlain = (section: UciSection): boolean =>
  givenName(section) !== undefined && section.options['enabled'] === undefined;

/** '' too, for sections that have none. */
const namesShared = (packages: readonly UciPackage[]): ReadonlySet<string> => {
  const shared = new Set(['']);
  for (const { sections } of packages) {
    const seen = new Set<string>();
    for (const section of sections.filter(({ type }) => NAMING.has(type))) {
      const name = givenName(section) ?? '';
      if (seen.has(name)) shared.add(name);
      seen.add(name);
    }
  }
  return shared;
};

/** For each changed section: the nearest in its direction before and behind, and by target. */
const neighboursIn = (
  sections: readonly UciSection[],
  changed: ReadonlySet<string>,
  eligible: (section: UciSection) => boolean,
): string[] =>
  sections.flatMap((section, at) => {
    if (!changed.has(keyOf(section))) return [];
    const isAlike = (other: UciSection): boolean =>
      other.type === section.type &&
      isEqual(other, section, 'src') &&
      isEqual(other, section, 'dest') &&
      eligible(other);
    const before = sections.slice(0, at).filter(isAlike);
    const behind = sections.slice(at + 1).filter(isAlike);
    const twin = [...behind, ...before.toReversed()].find((one) => isEqual(one, section, 'target'));
    return [before.at(-1), behind[0], twin].flatMap((one) => (one === undefined ? [] : keyOf(one)));
  });

const isEqual = (one: UciSection, other: UciSection, option: string): boolean =>
  own(one.options, option) === own(other.options, option);
