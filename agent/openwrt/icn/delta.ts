/**
 * What has to change in a collection of ICN's REST API. An object that is written goes to the end
 * of the list, so nothing is set in place: what is rewritten is removed and appended. Only what has
 * to move does: objects behind a rewritten one, and only where it matters which of the two comes
 * first. In quiet times the others follow, some at a time, so that all replicas come to one order.
 */
import { sectionsEqual, type DeltaInput } from '#shared/uci/delta.ts';
import type { UciDelta, UciSection } from '#shared/uci/model.ts';
import { collectionOf } from './collections.ts';
import { isOrderFree } from './overlap.ts';

/** How many objects a pass moves for a common order alone: calls take 81 ms beside 1,000 others. */
export const TIDIED_AT_ONCE = 50;

export const icnDeltaOf = (input: DeltaInput): UciDelta => {
  const needed = writtenOf(input, NONE);
  return deltaWith(
    input,
    isTidied(input, needed) ? writtenOf(input, untidy(input, needed)) : needed,
  );
};

const NONE: ReadonlySet<string> = new Set();

/** In iptables a common order comes when all is written anew; policy rules have `prio`. */
const isTidied = ({ observed, quiet }: DeltaInput, needed: readonly UciSection[]): boolean => {
  const { isOrdered, inIptables, service } = collectionOf(observed.name);
  if (isOrdered !== true || inIptables === true) return false;
  // Each change restarts mwan3, which interrupts traffic: there only along with one.
  return service === 'mwan3' ? needed.length > 0 : service !== undefined && quiet === true;
};

/** The first behind the longest beginning of `desired` that is in this order, and stays. */
const untidy = (
  { observed, desired, pinned = NONE }: DeltaInput,
  needed: readonly UciSection[],
): ReadonlySet<string> => {
  const goes = new Set(needed.map(({ name }) => name));
  const places = new Map(observed.sections.map((section, place) => [section.name, place]));
  const movable = desired.map(({ name }) => name).filter((name) => !pinned.has(name));
  const placeAt = (at: number): number => places.get(movable[at] ?? '') ?? -1;
  const tidy = movable.findIndex(
    (name, at) => goes.has(name) || (at > 0 && placeAt(at) < placeAt(at - 1)),
  );
  const behind = tidy < 0 ? [] : movable.slice(tidy).filter((name) => !goes.has(name));
  return new Set(behind.slice(0, TIDIED_AT_ONCE));
};

/** What has to be written, in order. `moved`: is written in any case. */
const writtenOf = (input: DeltaInput, moved: ReadonlySet<string>): readonly UciSection[] => {
  const { observed, desired, isOurs, pinned = NONE, anew = false } = input;
  const { name } = observed;
  const places = new Map(observed.sections.map((section, place) => [section.name, place]));
  const there = new Map(observed.sections.map((section) => [section.name, section]));
  const others = observed.sections.filter(
    (section) => !isOurs(section) && !pinned.has(section.name),
  );
  const mustFollow = (first: UciSection, second: UciSection): boolean =>
    !isOrderFree(name, first, second);
  // Where the call itself puts an object into force, only another one brings it back.
  const isRewritten = anew && collectionOf(name).inIptables === true;

  const written: UciSection[] = [];
  const kept: { section: UciSection; place: number }[] = [];
  let lastPlace = -1;
  const isMisplaced = (section: UciSection, place: number): boolean =>
    moved.has(section.name) ||
    written.some((earlier) => mustFollow(earlier, section)) ||
    (place < lastPlace &&
      kept.some((earlier) => earlier.place > place && mustFollow(earlier.section, section))) ||
    others.some((other) => (places.get(other.name) ?? -1) > place && mustFollow(other, section));
  for (const section of desired) {
    const before = there.get(section.name);
    const place = places.get(section.name) ?? -1;
    const isToWrite = before === undefined || isRewritten || !sectionsEqual(before, section);
    if (isToWrite || (!pinned.has(section.name) && isMisplaced(section, place)))
      written.push(section);
    else {
      kept.push({ section, place });
      lastPlace = Math.max(lastPlace, place);
    }
  }
  return written;
};

const deltaWith = (input: DeltaInput, written: readonly UciSection[]): UciDelta => {
  const { observed, desired, isOurs, pinned = NONE } = input;
  const wanted = new Set(desired.map((section) => section.name));
  const rewritten = new Set(written.map((section) => section.name));
  return {
    package: observed.name,
    remove: observed.sections
      .filter(
        (section) =>
          isOurs(section) &&
          (wanted.has(section.name) ? rewritten.has(section.name) : !pinned.has(section.name)),
      )
      .map((section) => section.name),
    set: [],
    append: [...written],
  };
};
