/** All that may differ between a recorded answer and the simulator's, and why. Nothing else may. */

type Difference = { why: string; pattern: RegExp };

/** In every answer. What a pattern matches is replaced by `?` on both sides. */
export const DIFFERENT_FIELDS: readonly Difference[] = [
  {
    why: 'times and numbers of files are those of the moment and the machine',
    pattern: /(?<="(?:atime|mtime|ctime|inode)":)\d+/g,
  },
  {
    why: 'dd measures its own speed',
    pattern: /(?<=copied, )[\d.e-]+ s, [\d.]+ \w*B\/s/g,
  },
  {
    why: 'the simulator renders no whole ruleset, so it does not know the line',
    pattern: /(?<=\/dev\/stdin:)\d+(?=:)/g,
  },
  { why: 'clock of the machine', pattern: /(?<="localtime":)\d+/g },
  {
    why: 'system board came from a stand-in that names the rig',
    pattern: /(?<="(?:kernel|system|model|board_name|version|revision|description)":)"[^"]*"/g,
  },
];

/** By the name of the exchange, in that answer only. */
export const DIFFERENT_ANSWERS: Readonly<Record<string, Difference>> = {
  'big: file.md5': {
    why: 'comments of the stock package, and the text that genfw.sh made, were not recorded; sizes agree',
    pattern: /(?<="md5":)"\w+"/g,
  },
  'delta: file.md5 before': {
    why: 'comments of the stock package were not recorded; its size agrees',
    pattern: /(?<="md5":)"\w+"/g,
  },
  'delta: file.md5 while staged': {
    why: 'comments of the stock package were not recorded; its size agrees',
    pattern: /(?<="md5":)"\w+"/g,
  },
  'fw4: another call during that reload': {
    why: 'comments of the stock package were not recorded; its size agrees',
    pattern: /(?<="md5":)"\w+"/g,
  },
};

/** Both sides of a comparison, as they are compared. */
export const comparable = (name: string, body: string): string => {
  const differences = [...DIFFERENT_FIELDS, DIFFERENT_ANSWERS[name]];
  let text = body;
  for (const difference of differences)
    if (difference) text = text.replaceAll(difference.pattern, '?');
  return sortedEntries(text);
};

/** The order of a directory is that of the file system. */
const sortedEntries = (body: string): string => {
  const entries = /(?<="entries":\[).*(?=\]\}\]\}$)/.exec(body)?.[0];
  if (entries === undefined) return body;
  return body.replace(
    entries,
    entries
      .split(/(?<=\}),/)
      .sort()
      .join(','),
  );
};
