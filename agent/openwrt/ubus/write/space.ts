/**
 * Whether OpenWRT has room for a change. OpenWRT itself does not look: libuci puts the beginning of
 * a file in place of a package, and rpcd copies as much of a package as there is room for, from
 * which it would roll back (both measured).
 */
import type { UciDelta, UciPackage, UciSection } from '#shared/uci/model.ts';
import { OpenwrtBlockedError } from '../../driver.ts';

/** Free bytes at `/etc/config`, and where rpcd keeps what is staged and what was (`/tmp`). */
export type Space = { config: number; tmp: number };

/** Files end in the middle of a block; and services write to `/tmp` as they are reloaded. */
const SPARE = { config: 8 * 1024, tmp: 64 * 1024 };
/** Around a name, an option and a value: words, quotes, tabs. */
const AROUND = 16;
/** What is removed is a line in a delta. */
const REMOVAL = 80;

type Packages = ReadonlyMap<string, UciPackage>;

/**
 * `before`, `after`: the packages of the deltas. @throws OpenwrtBlockedError that says how much
 * there is, and how much is needed
 */
export const assertSpace = (
  space: Space,
  { deltas, before, after }: { deltas: readonly UciDelta[]; before: Packages; after: Packages },
): void => {
  const needed = needs(deltas, before, after);
  const places = { config: '/etc/config', tmp: '/tmp' } as const;
  for (const where of ['config', 'tmp'] as const) {
    const wanted = needed[where] + SPARE[where];
    if (space[where] >= wanted) continue;
    throw new OpenwrtBlockedError(
      `change ${deltas.map(({ package: name }) => name).join(', ')}`,
      `no space left: ${places[where]} of OpenWRT has ${kilobytes(space[where])} free, and the change needs ${kilobytes(wanted)}`,
    );
  }
};

const kilobytes = (bytes: number): string => `${Math.ceil(bytes / 1024)} kB`;

/** A package is written beside the file that it replaces. rpcd keeps what was, and staged twice. */
const needs = (deltas: readonly UciDelta[], before: Packages, after: Packages): Space => {
  const names = deltas.map((delta) => delta.package);
  const sizes = (of: Packages): number[] => names.map((name) => sizeOf(of.get(name)?.sections));
  const [was, will] = [sizes(before), sizes(after)];
  const staged = sum(
    deltas.map(
      ({ remove, set, append }) =>
        REMOVAL * remove.length + sizeOf([...set.map((one) => one.after), ...append]),
    ),
  );
  return {
    config: Math.max(0, ...will) + Math.max(0, sum(will) - sum(was)),
    tmp: sum(was) + 2 * staged,
  };
};

const sum = (sizes: readonly number[]): number => sizes.reduce((total, size) => total + size, 0);

const sizeOf = (sections: readonly UciSection[] = []): number => {
  let size = 0;
  for (const { name, type, options } of sections) {
    size += type.length + name.length + AROUND;
    for (const [option, value] of Object.entries(options))
      for (const one of typeof value === 'string' ? [value] : value)
        size += option.length + one.length + AROUND;
  }
  return size;
};
