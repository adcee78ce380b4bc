/** `-o`: tables for people, JSON and YAML for programs. */
import { stringify } from 'yaml';
import * as z from 'zod';
import { FORMATS } from './formats.ts';
import { coloured } from './colour.ts';

export type Format = (typeof FORMATS)[number];

export const formatSchema = z.object({ output: z.enum(FORMATS) });

/** What JSON output begins with: it only grows within a version. */
export const headOf = <Kind extends string>(kind: Kind) => ({
  apiVersion: z.literal('cli.sdewan.akraino.org/v1'),
  kind: z.literal(kind),
});
export const API_VERSION = 'cli.sdewan.akraino.org/v1';

export type View = {
  data: object;
  table: (isWide: boolean) => string;
};

/** `hasColours`: `out` goes to a terminal with colours. */
type Out = { out: (text: string) => void; hasColours?: boolean };

export const print = (io: Out, format: Format, { data, table }: View): void => {
  if (format === 'json') io.out(`${JSON.stringify(data, null, 2)}\n`);
  else if (format === 'yaml')
    io.out(stringify(data, { lineWidth: 0, aliasDuplicateObjects: false }));
  else printText(io, table(format === 'wide'));
};

/** For people: with colours where they are seen. */
export const printText = ({ out, hasColours }: Out, text: string): void =>
  out(hasColours ? coloured(text) : text);
