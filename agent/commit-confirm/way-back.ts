/**
 * The way back from changes of sections, for an agent that has nothing but its files: the API
 * server is what it cannot reach. Keys are not to lie in a file, so of IPsec only what is new can
 * be taken out again.
 */
import type { Capabilities } from '#shared/resources/capabilities.ts';
import { holdsKeys, isPackage } from '#shared/resources/parts.ts';
import { isEmptyDelta } from '#shared/uci/delta.ts';
import type { UciDelta, UciPackage, UciSection } from '#shared/uci/model.ts';
import { icnDeltaOf } from '../openwrt/icn/delta.ts';
import { partOf } from '../openwrt/parts/parts.ts';

type Contents = Pick<UciSection, 'type' | 'options'>;

/** Package -> section -> what it was; null: it was not there. */
export type SectionsBefore = Readonly<Record<string, Readonly<Record<string, Contents | null>>>>;

/** With what the deltas are about to change; what is known already is from an earlier change. */
export const withBefore = (
  known: SectionsBefore,
  deltas: readonly UciDelta[],
  packages: ReadonlyMap<string, UciPackage>,
): SectionsBefore =>
  Object.fromEntries([
    ...Object.entries(known),
    ...deltas
      .filter((delta) => isPackage(delta.package))
      .map((delta) => {
        const there = new Map(
          packages.get(delta.package)?.sections.map((section) => [section.name, section]),
        );
        const earlier = known[delta.package] ?? {};
        const now = namesIn(delta).flatMap((name): [string, Contents | null][] => {
          const section = there.get(name);
          if (Object.hasOwn(earlier, name)) return [];
          if (section === undefined) return [[name, null]];
          const { type, options } = section;
          return holdsKeys(delta.package) ? [] : [[name, { type, options }]];
        });
        return [delta.package, { ...earlier, ...Object.fromEntries(now) }] as const;
      }),
  ]);

const namesIn = ({ remove, set, append }: UciDelta): string[] => [
  ...remove,
  ...set.map(({ after }) => after.name),
  ...append.map(({ name }) => name),
];

/** What has to change so that these sections are as they were; nothing else is touched. */
export const deltasBack = (
  before: SectionsBefore,
  packages: ReadonlyMap<string, UciPackage>,
  { dialect }: Pick<Capabilities, 'dialect'>,
): readonly UciDelta[] =>
  Object.entries(before).flatMap(([name, sections]) => {
    const observed = packages.get(name);
    if (observed === undefined) return [];
    const desired = Object.entries(sections).flatMap(([section, was]): UciSection[] =>
      was === null ? [] : [{ name: section, anonymous: false, ...was }],
    );
    const isOurs = (section: UciSection): boolean => Object.hasOwn(sections, section.name);
    const difference = dialect === 'icn' ? icnDeltaOf : partOf(name).delta;
    const delta = difference({ observed, desired, isOurs });
    return isEmptyDelta(delta) ? [] : [delta];
  });
