/**
 * What has to change in a package so that our sections are as wanted, in the wanted order, behind
 * those of others of their type, which stay as they are. Pure; equal packages give an empty delta.
 */
import type { UciDelta, UciPackage, UciReplacement, UciSection, UciValue } from './model.ts';
import { oncePerNames, oncePerPair } from '../util/memo.ts';
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
  const desired = withoutNames(wish.desired, pinned);
  const { ours, isInFront } = partsOf(observed, isOurs, pinned);
  // Most often all is in place, and neither set is needed.
  const wanted = oncePerNames(() => namesOf(desired));
  const set = changesOf(observed, wish.desired, pinned);
  const remove: string[] = [];
  let [kept, next] = [0, 0];
  for (const after of desired) {
    let before = ours[next];
    for (; before && before.name !== after.name && !wanted().has(before.name); next += 1) {
      remove.push(before.name);
      before = ours[next + 1];
    }
    if (before?.name !== after.name) break;
    if (isInFront(next, after.type)) break;
    if (!sectionsEqual(before, after)) set.push({ before, after });
    kept += 1;
    next += 1;
  }
  const rest = ours.slice(next);
  const staying = rest.length === 0 ? NONE : namesOf(desired.slice(0, kept));
  return {
    package: observed.name,
    remove: [...remove, ...namesOf(withoutNames(rest, staying))],
    set,
    append: desired.slice(kept),
  };
};

type Parts = {
  ours: readonly UciSection[];
  /** Whether a section of another owner, and of this type, is behind that place of `ours`. */
  isInFront: (at: number, type: string) => boolean;
};

const partsOf = (
  { sections }: UciPackage,
  isOurs: DeltaInput['isOurs'],
  pinned: ReadonlySet<string>,
): Parts => {
  const ours: UciSection[] = [];
  const places: number[] = [];
  const lastForeign = new Map<string, number>();
  for (const [place, section] of sections.entries()) {
    if (pinned.has(section.name)) continue;
    if (!isOurs(section)) lastForeign.set(section.type, place);
    else places[ours.push(section) - 1] = place;
  }
  return { ours, isInFront: (at, type) => (places[at] ?? 0) < (lastForeign.get(type) ?? -1) };
};

const namesOf = (sections: readonly UciSection[]): ReadonlySet<string> =>
  new Set(sections.map(({ name }) => name));

const withoutNames = (
  sections: readonly UciSection[],
  names: ReadonlySet<string>,
): readonly UciSection[] =>
  names.size === 0 ? sections : sections.filter(({ name }) => !names.has(name));

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

/** `differing`: of what is desired, what is another or missing. `beside`: what is there as well. */
export type Comparison = {
  differing: readonly UciSection[];
  beside: readonly UciSection[];
};

/** By name, wherever sections stand. Once for each pair, since several steps of a pass ask. */
export const comparisonOf = oncePerPair(
  (observed: readonly UciSection[], desired: readonly UciSection[]): Comparison => {
    const differing: UciSection[] = [];
    const aside = new Map<string, UciSection>();
    // Most often they stand in the same order, and need not be found by name.
    let next = 0;
    for (const section of observed) {
      const wanted = desired[next];
      if (section === wanted) next += 1;
      else if (wanted?.name !== section.name) aside.set(section.name, section);
      else {
        if (!sectionsEqual(section, wanted)) differing.push(wanted);
        next += 1;
      }
    }
    for (const wanted of desired.slice(next)) {
      const found = aside.get(wanted.name);
      if (found === undefined || !sectionsEqual(found, wanted)) differing.push(wanted);
      aside.delete(wanted.name);
    }
    return { differing, beside: [...aside.values()] };
  },
);
