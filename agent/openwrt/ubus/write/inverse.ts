/** Undoes a delta section by section, so that what others wrote meanwhile stays. */
import type { UciDelta } from '#shared/uci/model.ts';
import { OpenwrtError } from '../../driver.ts';
import { sectionsDiffering } from './comparison.ts';
import { unreadable } from './cut-short.ts';
import type { PackageState } from '../read/packages.ts';
import type { Transaction } from './write-path.ts';

/** Back to the base: what changed in place changes back, and what was to go or move comes back. */
export const inverseOf = (
  { bases }: Transaction,
  delta: UciDelta,
  now: PackageState | undefined,
): UciDelta => {
  const base = bases.get(delta.package)?.content;
  if (now?.state !== 'read' || base === undefined) throw unreadable(delta.package, now);
  const present = new Map(now.content.sections.map((section) => [section.name, section]));
  const gone = new Set(delta.remove);
  return {
    package: delta.package,
    remove: [...delta.remove, ...delta.append.map(({ name }) => name)].filter(
      (name, at, names) => present.has(name) && names.indexOf(name) === at,
    ),
    set: delta.set.flatMap(({ before }) => {
      const changed = present.get(before.name);
      return changed === undefined ? [] : [{ before: changed, after: before }];
    }),
    append: base.sections.filter(({ name }) => gone.has(name)),
  };
};

/** @throws OpenwrtError when a section of the delta is not as it was in the base */
export const assertRestored = (
  { bases }: Transaction,
  delta: UciDelta,
  now: PackageState | undefined,
): void => {
  const base = bases.get(delta.package)?.content;
  if (now?.state !== 'read' || base === undefined) throw unreadable(delta.package, now);
  const lost = sectionsDiffering(now.content, base, delta);
  if (lost.length === 0) return;
  throw new OpenwrtError(
    `undo ${delta.package}`,
    `these sections are not as before: ${lost.join(', ')}`,
  );
};
