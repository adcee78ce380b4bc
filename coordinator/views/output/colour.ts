/** Colours for a terminal: put into a finished text, so that columns stay where they are. Pure. */
import { styleText } from 'node:util';

/** What is coloured, a line at a time; of two that begin at one place the first counts. */
const PARTS = [
  // Headings of a table.
  ['bold', /^[A-Z]{2,}(?: [A-Z]+)*(?: {3,}\S.*)?$/],
  // Marks of `check`, what a difference adds, and what is as it should be.
  ['green', /^✓|^\+ {1,3}\S.*$|\b(?:InSync|accepted|allowed|opened)\b/],
  [
    'red',
    /^✗|^- {1,3}\S.*$|(?<=^ *)cause:|\b(?:not in sync|NotInSync|Stalled|rejected|dropped|denied|cut)\b/,
  ],
  [
    'yellow',
    /^\?(?= )|(?<=^ *)cure:|\b(?:Applying|Removing|Pending|Unknown|WaitingFor\w+|being deleted|undecided)\b/,
  ],
] as const;
type Style = (typeof PARTS)[number][0];

const PATTERN = new RegExp(
  PARTS.map(([style, { source }]) => `(?<${style}>${source})`).join('|'),
  'gmu',
);

/** The text with the codes of a terminal; without them it is what it was. */
export const coloured = (text: string): string =>
  text.replaceAll(PATTERN, (part, ...rest) => {
    const groups: Partial<Record<Style, string>> = rest.at(-1);
    const [style] = PARTS.find(([one]) => groups[one] !== undefined) ?? PARTS[0];
    return styleText(style, part, { validateStream: false });
  });

/**
 * Whether Node would colour what goes to standard output: on a terminal that can, unless NO_COLOR
 * forbids it, or where FORCE_COLOR asks for it.
 */
export const showsColours = (): boolean =>
  styleText('bold', '.', { stream: process.stdout }) !== '.';
