/** ICN's patterns in bucket permissions: `*` is any characters, `?` exactly one. */

/** Linear in the text's length for each `*`, so no pattern in a role can slow admission down. */
export const matchesPattern = (pattern: string, text: string): boolean => {
  let inPattern = 0;
  let inText = 0;
  let starAt = -1;
  let starCovers = 0;
  while (inText < text.length) {
    const wanted = pattern[inPattern];
    if (wanted === '*') {
      starAt = inPattern++;
      starCovers = inText;
    } else if (wanted === '?' || (wanted !== undefined && wanted === text[inText])) {
      inPattern++;
      inText++;
    } else if (starAt >= 0) {
      inPattern = starAt + 1;
      inText = ++starCovers;
    } else {
      return false;
    }
  }
  while (pattern[inPattern] === '*') inPattern++;
  return inPattern === pattern.length;
};
