/** Plain columns as kubectl prints them: no frames, three blanks between, none behind the last. */
import stringWidth from 'string-width';

const GAP = '   ';

/** With a line break behind each line; `rows` have a cell for each header. */
export const table = (headers: readonly string[], rows: readonly (readonly string[])[]): string => {
  const lines = [headers, ...rows].map((cells) => cells.map(printable));
  const widths = headers.map((_, at) =>
    Math.max(...lines.map((cells) => stringWidth(cells[at] ?? ''))),
  );
  return lines
    .map((cells) =>
      cells
        .map((cell, at) => cell + ' '.repeat((widths[at] ?? 0) - stringWidth(cell)))
        .join(GAP)
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join('');
};

/** Empty where there are no rows. */
export const tableOrNone = (
  headers: readonly string[],
  rows: readonly (readonly string[])[],
): string => (rows.length === 0 ? '' : table(headers, rows));

/** Parts of an answer, each below its title. */
export const titled = (parts: readonly (readonly [title: string, text: string])[]): string =>
  parts
    .map(([title, text]) => `${title}:\n${(text === '' ? 'none' : text).trimEnd()}\n`)
    .join('\n');

/** In whole lines, with our own styles alone: for all that goes to a terminal. */
export const forTerminal = (text: string): string =>
  text.replaceAll(/(?![\n\t])(?:\p{Cc}\[\d{1,2}m|[\p{Cc}\p{Cf}])/gu, (one) => {
    const [first = '', ...rest] = one;
    return STYLES.has(one) ? one : [escaped(first), ...rest].join('');
  });

/** Those that `coloured` makes, and their ends. */
const STYLES: ReadonlySet<string> = new Set(
  [1, 22, 31, 32, 33, 39].map((code) => `\u001B[${code}m`),
);

const escaped = (text: string): string =>
  `\\u${(text.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;

/** In one line, without what a terminal acts on: texts of CRs, pods and agents can be anything. */
export const printable = (text: string): string =>
  text
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replaceAll(/[\p{Cc}\p{Cf}]/gu, escaped);
