/**
 * What has to change in a collection of ICN's REST API. An object that is written goes to the end of the list, so nothing is
 * set in place: what is rewritten is removed and appended. Only what has to move does: objects behind a rewritten one, and only
 * where it matters which of the two comes first.
 */
import { sectionsEqual, type DeltaInput } from '#shared/uci/delta.ts';
import type { UciDelta, UciSection } from '#shared/uci/model.ts';
import { collectionOf } from './collections.ts';
import { isOrderFree } from './overlap.ts';

export const icnDeltaOf = (input: DeltaInput): UciDelta => {
  const { observed, desired, isOurs, pinned, anew = false } = input;
  const { name } = observed;
  const places = new Map(observed.sections.map((section, place) => [section.name, place]));
  const there = new Map(observed.sections.map((section) => [section.name, section]));
  const wanted = new Set(desired.map((section) => section.name));
  const isPinned = (section: UciSection): boolean => pinned?.has(section.name) === true;
  const foreign = observed.sections.filter((section) => !isOurs(section) && !isPinned(section));
  const mustFollow = (first: UciSection, second: UciSection): boolean =>
    !isOrderFree(name, first, second);
  // Where the call itself puts an object into force, only another one brings it back.
  const isRewritten = anew && collectionOf(name).inIptables === true;

  const written: UciSection[] = [];
  const kept: { section: UciSection; place: number }[] = [];
  let lastPlace = -1;
  const isMisplaced = (section: UciSection, place: number): boolean =>
    written.some((earlier) => mustFollow(earlier, section)) ||
    (place < lastPlace &&
      kept.some((earlier) => earlier.place > place && mustFollow(earlier.section, section))) ||
    foreign.some((other) => (places.get(other.name) ?? -1) > place && mustFollow(other, section));
  for (const section of desired) {
    const before = there.get(section.name);
    const place = places.get(section.name) ?? -1;
    const isToWrite = before === undefined || isRewritten || !sectionsEqual(before, section);
    if (isToWrite || (!isPinned(section) && isMisplaced(section, place))) written.push(section);
    else {
      kept.push({ section, place });
      lastPlace = Math.max(lastPlace, place);
    }
  }
  const rewritten = new Set(written.map((section) => section.name));
  return {
    package: name,
    remove: observed.sections
      .filter(
        (section) =>
          isOurs(section) &&
          (wanted.has(section.name) ? rewritten.has(section.name) : !isPinned(section)),
      )
      .map((section) => section.name),
    set: [],
    append: written,
  };
};
