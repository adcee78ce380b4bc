/**
 * What has to change in a collection of ICN's REST API. An object that is written goes to the end of the list, so nothing is
 * set in place: what is rewritten is removed and appended. Only what has to move does: objects behind a rewritten one, and only
 * where it matters which of the two comes first.
 */
import { sectionsEqual, type DeltaInput } from '#shared/uci/delta.ts';
import type { UciDelta, UciSection } from '#shared/uci/model.ts';
import { collectionOf } from './collections.ts';
import { isOrderFree } from './overlap.ts';

export const icnDeltaOf = ({ observed, desired, isOurs, anew = false }: DeltaInput): UciDelta => {
  const { name } = observed;
  const places = new Map(observed.sections.map((section, place) => [section.name, place]));
  const there = new Map(observed.sections.map((section) => [section.name, section]));
  const wanted = new Set(desired.map((section) => section.name));
  const foreign = observed.sections.filter((section) => !isOurs(section));
  const mustFollow = (first: UciSection, second: UciSection): boolean =>
    !isOrderFree(name, first, second);
  // Where the call itself puts an object into force, only another one brings it back.
  const isRewritten = anew && collectionOf(name).inIptables === true;

  const written: UciSection[] = [];
  const kept: { section: UciSection; place: number }[] = [];
  let lastPlace = -1;
  for (const section of desired) {
    const before = there.get(section.name);
    const place = places.get(section.name) ?? -1;
    const moves =
      before === undefined ||
      isRewritten ||
      !sectionsEqual(before, section) ||
      written.some((earlier) => mustFollow(earlier, section)) ||
      (place < lastPlace &&
        kept.some((earlier) => earlier.place > place && mustFollow(earlier.section, section))) ||
      foreign.some((other) => (places.get(other.name) ?? -1) > place && mustFollow(other, section));
    if (moves) written.push(section);
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
        (section) => isOurs(section) && (!wanted.has(section.name) || rewritten.has(section.name)),
      )
      .map((section) => section.name),
    set: [],
    append: written,
  };
};
