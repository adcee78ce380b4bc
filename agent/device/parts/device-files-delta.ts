/** What has to change among our files. Their order means nothing, so that none is written anew only because another comes or goes. */
import { sectionsEqual, type DeltaInput } from '#shared/uci/delta.ts';
import type { UciDelta } from '#shared/uci/model.ts';

/** A file whose content is not its own any more is in `remove` and in `append`. */
export const deviceFilesDeltaOf = ({ observed, desired, isOurs }: DeltaInput): UciDelta => {
  const there = new Map(observed.sections.map((file) => [file.name, file]));
  const wanted = new Set(desired.map(({ name }) => name));
  const append = desired.filter((file) => {
    const found = there.get(file.name);
    return found === undefined || !sectionsEqual(found, file);
  });
  const unwanted = observed.sections.filter((file) => isOurs(file) && !wanted.has(file.name));
  const replaced = append.filter(({ name }) => there.has(name));
  return {
    package: observed.name,
    remove: [...unwanted, ...replaced].map(({ name }) => name),
    set: [],
    append,
  };
};
