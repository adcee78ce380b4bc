/**
 * What has to change in a package so that our sections are as wanted, in the wanted order, behind
 * those of others of their type, which stay as they are. Pure; equal packages give an empty delta.
 */
import type { UciDelta, UciPackage, UciReplacement, UciSection, UciValue } from './model.ts';
import { own } from '../util/own.ts';

export type DeltaInput = {
  /** The package as OpenWRT has it now. */
  observed: UciPackage;
  /** All sections that are to be ours, in order. Names are unique. */
  desired: readonly UciSection[];
  /** Tells our sections of `observed` from an administrator's; only ours are removed or changed. */
  isOurs: (section: UciSection) => boolean;
  /**
   * Names of sections of `observed` that keep their places, whatever stands before or behind them:
   * changed there when wanted, else left.
   */
  pinned?: ReadonlySet<string> | undefined;
  /** The package's service may lack what the file holds. A reload is enough here: no change. */
  anew?: boolean;
  /** Nothing waits for this pass: sections in their right place may move, too. Not here. */
  quiet?: boolean;
};

/**
 * A section whose place is wrong moves by removal and appending. So as few as possible move: the
 * sections that may stay are the longest beginning of `desired` that `observed` has in this order,
 * with no section of another owner and the same type behind it (an administrator's rules match
 * first).
 */
export const deltaOf = ({ observed, isOurs, pinned = NONE, ...wish }: DeltaInput): UciDelta => {
  const desired = wish.desired.filter(({ name }) => !pinned.has(name));
  const ours = observed.sections.filter((section) => isOurs(section) && !pinned.has(section.name));
  const wanted = new Set(desired.map(({ name }) => name));
  const remaining = ours.filter(({ name }) => wanted.has(name));
  const isForeign = (section: UciSection) => !isOurs(section) && !pinned.has(section.name);
  const lastForeign = placesOfLast(observed, isForeign);
  const placeOf = new Map(observed.sections.map(({ name }, place) => [name, place]));

  let kept = 0;
  const set = changesOf(observed, wish.desired, pinned);
  for (const after of desired) {
    const before = remaining[kept];
    if (before?.name !== after.name) break;
    if ((placeOf.get(after.name) ?? 0) < (lastForeign.get(after.type) ?? -1)) break;
    if (!sectionsEqual(before, after)) set.push({ before, after });
    kept += 1;
  }
  const staying = new Set(desired.slice(0, kept).map(({ name }) => name));
  return {
    package: observed.name,
    remove: ours.filter(({ name }) => !staying.has(name)).map(({ name }) => name),
    set,
    append: desired.slice(kept),
  };
};

const NONE: ReadonlySet<string> = new Set();

const changesOf = (
  observed: UciPackage,
  desired: readonly UciSection[],
  pinned: ReadonlySet<string>,
): UciReplacement[] => {
  if (pinned.size === 0) return [];
  const there = new Map(observed.sections.map((section) => [section.name, section]));
  return desired.flatMap((after) => {
    const before = pinned.has(after.name) ? there.get(after.name) : undefined;
    return before && !sectionsEqual(before, after) ? [{ before, after }] : [];
  });
};

export const isEmptyDelta = ({ remove, set, append }: UciDelta): boolean =>
  remove.length === 0 && set.length === 0 && append.length === 0;

/** Type, options and list order; neither the order of options nor options that are empty count. */
export const sectionsEqual = (a: UciSection, b: UciSection): boolean => {
  if (a === b) return true;
  if (a.type !== b.type || a.name !== b.name) return false;
  const stored = Object.entries(a.options).filter(([, value]) => value.length > 0);
  const other = Object.values(b.options).filter((value) => value.length > 0);
  return (
    stored.length === other.length &&
    stored.every(([option, value]) => valuesEqual(value, own(b.options, option)))
  );
};

const valuesEqual = (a: UciValue, b: UciValue | undefined): boolean => {
  if (b === undefined || typeof a === 'string' || typeof b === 'string') return a === b;
  return a.length === b.length && a.every((item, index) => item === b[index]);
};

/** The package after the delta. Names in `remove` and `set` that it lacks are ignored. */
export const applyDelta = (observed: UciPackage, delta: UciDelta): UciPackage => {
  const removed = new Set(delta.remove);
  const replaced = new Map(delta.set.map(({ after }) => [after.name, after]));
  const kept = observed.sections.filter(({ name }) => !removed.has(name));
  return {
    name: observed.name,
    sections: [...kept.map((section) => replaced.get(section.name) ?? section), ...delta.append],
  };
};

const placesOfLast = (
  { sections }: UciPackage,
  isMeant: (section: UciSection) => boolean,
): ReadonlyMap<string, number> => {
  const places = new Map<string, number>();
  for (const [place, section] of sections.entries()) {
    if (isMeant(section)) places.set(section.type, place);
  }
  return places;
};
