/** What UCI takes as a name, a type, a package and a value. All arguments are byte strings. */

/** Sections and options: shell variable characters, so no dash. */
export const isName = (text: string): boolean => /^[A-Za-z0-9_]+$/.test(text);

/** Packages, which are file names, may have a dash. */
export const isPackageName = (text: string): boolean => /^[A-Za-z0-9_-]+$/.test(text);

/**
 * libuci takes any printable ASCII but the blank for a type, even quotes and `#`, which then make
 * the file unreadable.
 */
export const isType = (text: string): boolean => /^[!-~]+$/.test(text);

/**
 * Values in delta files: control characters other than tab, newline and carriage return make libuci
 * skip the line.
 */
export const isValueText = (text: string): boolean =>
  // eslint-disable-next-line no-control-regex -- control characters are what is looked for
  !/[\x00-\x08\x0b\x0c\x0e-\x1f]/.test(text);
