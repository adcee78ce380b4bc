/** The commands that pages of the documentation show, and what they show of their output. Pure. */

/** `at`: from 1 on, among the blocks of its page that have commands. */
export type Block = { page: string; at: number; isShown: boolean; text: string };
export type Step = { command: string; shown: string };

const FENCED = /^( *)```(sh|console)\n(.*?)^ *```$/gms;

export const blocksIn = (page: string, text: string): Block[] =>
  [...text.matchAll(FENCED)].map(([, indent = '', language, body = ''], index) => ({
    page,
    at: index + 1,
    isShown: language === 'console',
    text: body.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  }));

/**
 * A command of a `console` block begins with `$ ` and goes on to the end of its here-document; one
 * of `sh` is a line.
 */
export const stepsIn = ({ isShown, text }: Pick<Block, 'isShown' | 'text'>): Step[] => {
  if (!isShown)
    return text
      .split('\n')
      .filter((line) => line.trim() !== '')
      .map((command) => ({ command, shown: '' }));
  return text
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const end = part.includes('<<END') ? part.indexOf('\nEND\n') + 5 : part.indexOf('\n') + 1;
      return { command: part.slice(0, end), shown: part.slice(end) };
    });
};

/**
 * The page with what has been printed in its `console` blocks, in their order; undefined: that one
 * stays.
 */
export const withOutput = (text: string, printed: readonly (string | undefined)[]): string => {
  let index = 0;
  return text.replaceAll(FENCED, (whole, indent: string) => {
    const now = printed[index];
    index += 1;
    if (now === undefined) return whole;
    return `${indent}\`\`\`console\n${now.replaceAll(/^(?=.)/gm, indent)}${indent}\`\`\``;
  });
};

/**
 * What is another in each run, or with each new kind: how many kinds there are, names of pods and
 * how many there have been, what is derived from uids, ages, times, and the widths of columns that
 * follow from them.
 */
export const steady = (text: string): string =>
  text
    .replaceAll(/\bcnf-1-[a-z0-9]+-[a-z0-9]{5}\b/g, 'cnf-1-<pod>')
    .replaceAll(/(?<=\bcnf-1-|^(?:serves|staged): revision \d+ \()[a-z0-9]{8,10}\b/gm, '<set>')
    .replaceAll(/(?<=ipv[46]-)[0-9a-f]{10}\b/g, '<hash>')
    .replaceAll(/\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?Z?/g, '<time>')
    .replaceAll(/\b\d{4}-\d\d-\d\d\b/g, '<day>')
    .replaceAll(/(?<=^|[ (])(\d+[dsmh])+(?=[ ),:]|$)/gm, '<age>')
    .replaceAll(/^✓ \d+ kinds$/gm, '✓ <number> kinds')
    .replaceAll(/(?<=on all pods \()\d+/g, '<pods>')
    .replaceAll(/ +/g, ' ')
    .replaceAll(/ +$/gm, '')
    .replaceAll(/^(\S*cnf-1-<.*\n)+/gm, inOneOrder);

/**
 * What is shown, less the warnings of a webhook that the API server may go without: it waits for
 * five seconds, and a machine that is busy may need longer. Tests of admission prove the warnings.
 */
export const withoutLateWarnings = (shown: string, printed: string): string =>
  shown
    .split(/(?<=\n)/)
    .filter((line) => !line.startsWith('Warning: ') || printed.includes(line))
    .join('');

/** By what they say: kubectl sorts rows by names, which are others in each run. */
const inOneOrder = (rows: string): string => `${rows.trimEnd().split('\n').sort().join('\n')}\n`;
