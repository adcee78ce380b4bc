/** What one line of text has room for. */
const MOST = 5;

/** `a, b and 3 more`: the first of many names, in their order. */
export const few = (names: readonly string[], most = MOST): string => {
  const more = names.length - most;
  return more > 0 ? `${names.slice(0, most).join(', ')} and ${more} more` : names.join(', ');
};

/** What may have been meant by a name that is not there: the end of a message. */
export const thereIs = (names: Iterable<string>): string => {
  const sorted = [...names].sort();
  return sorted.length === 0 ? '' : `; there is: ${few(sorted)}`;
};

/** What may have been meant of a CNF: the end of a message. */
export const itHas = (names: Iterable<string>): string =>
  `; it has: ${few([...names].sort()) || 'none'}`;
