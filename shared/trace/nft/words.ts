/** A rule as nft prints it, word by word. Pure. */

/** In quotes, which are taken off; or what stands in braces, as items of words. */
export type Word = { text: string; quoted: boolean; items?: readonly Item[] };
export type Item = readonly Word[];

const WORD = /\s*(?:"((?:[^"\\]|\\.)*)"(-"[^"]*")?|\{([^{}]*)\}|([^\s{}"]+))/y;

/** Undefined for what is no rule. */
export const wordsIn = (line: string): readonly Word[] | undefined => {
  const text = line.trim();
  const words: Word[] = [];
  WORD.lastIndex = 0;
  while (WORD.lastIndex < text.length) {
    const found = WORD.exec(text);
    if (!found) return undefined;
    const [, quoted, until = '', set, plain = ''] = found;
    words.push(
      set === undefined
        ? { text: (quoted ?? plain) + until, quoted: quoted !== undefined }
        : { text: '{}', quoted: false, items: itemsIn(set) },
    );
  }
  return words;
};

/** What nft prints in sets has no commas of its own. */
const itemsIn = (set: string): readonly Item[] =>
  set
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
    .map((item) =>
      item
        .split(' ')
        .map((text) => ({ text: text.replaceAll('"', ''), quoted: text.startsWith('"') })),
    );
