/** A line of a program's log as people read it. Pure. */
import * as z from 'zod';
import { printable } from '../output/table.ts';

const lineSchema = z.looseObject({
  level: z.string(),
  time: z.iso.datetime(),
  msg: z.string(),
  name: z.string().optional(),
});

const errorSchema = z.looseObject({ message: z.string() });

export type LogLine = {
  /** Milliseconds; undefined: the line tells none. */
  time: number | undefined;
  text: string;
};

/** Whatever is no JSON of ours stays as it is. */
export const lineOf = (raw: string, pod: string): LogLine => {
  const { data } = lineSchema.safeParse(jsonIn(raw));
  if (!data) return { time: undefined, text: `${pod} ${printable(raw)}` };
  const { level, time, msg, name: _name, ...rest } = data;
  const words = [
    time.slice(0, -1).replace('T', ' '),
    pod,
    level.toUpperCase().padEnd(LEVEL_WIDTH),
    printable(msg),
    ...Object.entries(rest).map(([key, value]) => `${key}=${valueText(value)}`),
  ];
  return { time: Date.parse(time), text: words.join(' ') };
};

/** Lines that tell no time stay behind the one that they followed; those of several pods come one after the other. */
export const byTime = (pods: readonly (readonly LogLine[])[]): LogLine[] =>
  pods
    .flatMap((lines) => {
      let last = 0;
      return lines.map((line) => ({ line, at: (last = line.time ?? last) }));
    })
    .sort((a, b) => a.at - b.at)
    .map(({ line }) => line);

/** `error` is the longest but one. */
const LEVEL_WIDTH = 5;

const valueText = (value: unknown): string => {
  const error = errorSchema.safeParse(value).data;
  const text = typeof value === 'string' ? value : (error?.message ?? JSON.stringify(value));
  return printable(/[\s"=]|^$/.test(text) ? JSON.stringify(text) : text);
};

const jsonIn = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
