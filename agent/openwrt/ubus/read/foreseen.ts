/**
 * What a package will be once OpenWRT has written it. Where its version then is that of this text,
 * it is just so, and need not be transferred and parsed. Pure.
 */
import { UciFormatError } from '#shared/uci/format.ts';
import type { UciPackage, UciSection } from '#shared/uci/model.ts';
import { anonymousName } from '#shared/uci/parse.ts';
import type { Base } from './packages.ts';
import type { WritePath } from '../write/write-path.ts';

/** `before`: as it was read. Undefined where only reading it tells. */
export const foreseen = (
  { versionOf }: Pick<WritePath, 'versionOf'>,
  wanted: UciPackage,
  before?: UciPackage,
): Base | undefined => {
  const asReadNow = (section: UciSection, at: number): UciSection =>
    section === before?.sections[at] && !section.anonymous ? section : asRead(section, at);
  const content = { name: wanted.name, sections: wanted.sections.map(asReadNow) };
  try {
    return versionOf && { version: versionOf(content), content };
  } catch (error) {
    // Others' sections can hold what we do not write.
    if (error instanceof UciFormatError) return undefined;
    throw error;
  }
};

/** Anonymous sections are named by their places, and UCI has no options that are empty. */
const asRead = (section: UciSection, at: number): UciSection => {
  const { type, anonymous, options } = section;
  const name = anonymous ? anonymousName(at + 1, type) : section.name;
  const isWhole = Object.values(options).every((value) => value.length > 0);
  if (isWhole && name === section.name) return section;
  const stored = Object.entries(options).filter(([, value]) => value.length > 0);
  return { ...section, name, options: Object.fromEntries(stored) };
};
