/** What comes of comparing sections with the kernel: an unreadable one harms no other. Pure. */
import type { UciSection } from '#shared/uci/model.ts';
import { messageOf } from '#shared/runtime/errors.ts';

/** Section -> what the kernel lacks of it; section -> why it cannot be compared. Never both. */
export type Compared = {
  lacking: ReadonlyMap<string, string>;
  incomparable: ReadonlyMap<string, string>;
};

export const NOTHING_LACKS: Compared = { lacking: new Map(), incomparable: new Map() };

/** Where `what` is gone, by which the kernel would have all of them. */
export const allLack = (sections: readonly UciSection[], what: string): Compared => ({
  lacking: new Map(sections.map(({ name }) => [name, what])),
  incomparable: new Map(),
});

/**
 * `begin` reads what all comparisons need; what it gives says of a section what is lacking, or
 * undefined. Either may throw: then the sections, or that section, cannot be compared.
 */
export const compareSections = (
  sections: readonly UciSection[],
  begin: () => (section: UciSection) => string | undefined,
): Compared => {
  const lacking = new Map<string, string>();
  const incomparable = new Map<string, string>();
  let compare: ReturnType<typeof begin>;
  try {
    compare = begin();
  } catch (error) {
    return { lacking, incomparable: new Map(sections.map(({ name }) => [name, messageOf(error)])) };
  }
  for (const section of sections) {
    try {
      const what = compare(section);
      if (what !== undefined) lacking.set(section.name, what);
    } catch (error) {
      incomparable.set(section.name, messageOf(error));
    }
  }
  return { lacking, incomparable };
};
