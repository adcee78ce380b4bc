/**
 * Where log lines go through, so that no peer can fill a disk by what it sends or does: no line is
 * longer than some kilobytes, what is repeated is counted, and what must not be read in a log is
 * taken out whatever text it is part of.
 */
import type { DestinationStream } from 'pino';
import { systemClock, type Clock } from './clock.ts';

/** Length of a line, in UTF-16 units. An error with its cause and both stacks has about 3,000. */
const MAX_LINE_LENGTH = 8_192;
/** Length of a text in a line that is too long. */
const MAX_TEXT_LENGTH = 512;
/** Items of a list or an object in a line that is too long. */
const MAX_ITEMS = 16;
const MAX_DEPTH = 4;

const WINDOW_MS = 10_000;
/** Lines that differ in nothing but their time. The next ones of the window are counted. */
const MAX_SAME = 5;
/** Lines with the same `msg`. */
const MAX_OF_A_MESSAGE = 1_000;
/** Different lines that are remembered in a window. */
const MAX_KNOWN = 2_000;

/** The end of a webhook's path: the API server's error has it when a webhook does not answer. */
const PATH_TOKENS = /(\/admission\/[a-z-]+\/)[0-9a-f]{32}/g;

type Line = Record<string, unknown>;
type Seen = { lines: number; last: Line };

export const boundedLines = (
  destination: DestinationStream,
  clock: Pick<Clock, 'after'> = systemClock,
): DestinationStream => {
  let same = new Map<string, Seen>();
  let ofAMessage = new Map<string, Seen>();
  let isWindowOpen = false;

  const write = (line: Line): void => destination.write(`${JSON.stringify(line)}\n`);

  const closeWindow = (): void => {
    const ended = [...same.values(), ...ofAMessage.values()];
    same = new Map();
    ofAMessage = new Map();
    isWindowOpen = false;
    for (const { lines, last } of ended) if (lines > 0) write({ ...last, repeated: lines });
  };

  /** Whether it is one too many; it is counted then. */
  const isTooMany = (seen: Map<string, Seen>, key: string, limit: number, last: Line): boolean => {
    let of = seen.get(key);
    if (of === undefined) {
      if (seen.size >= MAX_KNOWN) return false;
      of = { lines: -limit, last };
      seen.set(key, of);
    }
    of.lines += 1;
    of.last = last;
    return of.lines > 0;
  };

  return {
    write: (text) => {
      const whole: Line = JSON.parse(text.replaceAll(PATH_TOKENS, '$1…'));
      const line = text.length > MAX_LINE_LENGTH ? shortened(whole) : whole;
      if (!isWindowOpen) {
        isWindowOpen = true;
        clock.after(WINDOW_MS, closeWindow);
      }
      const { time: _, ...said } = line;
      const isRepeated =
        isTooMany(same, JSON.stringify(said), MAX_SAME, line) ||
        isTooMany(ofAMessage, String(line['msg']), MAX_OF_A_MESSAGE, line);
      if (!isRepeated) write(line);
    },
  };
};

/** The same fields, each within bounds; with few enough of them the line is within its own. */
const shortened = (line: Line): Line => {
  const { msg, ...fields } = line;
  const cut = { ...Object(cutTo(fields, MAX_DEPTH)), msg: cutTo(msg, 1) };
  if (JSON.stringify(cut).length <= MAX_LINE_LENGTH) return cut;
  const { level, time, name } = cut;
  return { level, time, name, msg: cut.msg, cut: true };
};

const cutTo = (value: unknown, depth: number): unknown => {
  if (typeof value === 'string')
    return value.length <= MAX_TEXT_LENGTH ? value : `${value.slice(0, MAX_TEXT_LENGTH)}…`;
  if (typeof value !== 'object' || value === null) return value;
  if (depth === 0) return '…';
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map((item) => cutTo(item, depth - 1));
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, MAX_ITEMS)
      .map(([key, item]) => [key.slice(0, MAX_TEXT_LENGTH), cutTo(item, depth - 1)]),
  );
};
