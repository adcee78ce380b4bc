/** Which names and values UCI can hold. libuci silently skips others, so none may reach it. */

const NAME = /^[A-Za-z0-9_]+$/;
const TYPE = /^[A-Za-z0-9_-]+$/;

/** Section and option names, and packages: libuci takes letters, digits and `_` only. */
export const isUciName = (name: string): boolean => NAME.test(name);

/** Section types without quotes. libuci accepts more, and writes files that it cannot read. */
export const isUciType = (type: string): boolean => TYPE.test(type);

/**
 * Whether a value arrives as it was sent: no control characters (libuci drops the option, or ends
 * it at a NUL), and well-formed, since lone surrogates become U+FFFD on the way. Newlines could be
 * stored, but no rule needs them, and other readers of the file take a line for a line.
 */
export const isUciValue = (value: string): boolean =>
  !hasControlCharacter(value) && value.isWellFormed();

/** A CR's name as UCI can hold it. Two CR names can become one: the compiler looks out for that. */
export const uciName = (crName: string): string => crName.replaceAll(/[^A-Za-z0-9_]/g, '_');

const hasControlCharacter = (text: string): boolean => {
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code < 0x20 || code === 0x7f) return true;
  }
  return false;
};
