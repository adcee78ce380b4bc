/** What one line of text has room for. */
const MOST = 5;

/** `a, b and 3 more`: the first of many names, in their order. */
export const few = (names: readonly string[], most = MOST): string => {
  const more = names.length - most;
  return more > 0 ? `${names.slice(0, most).join(', ')} and ${more} more` : names.join(', ');
};
