/** `-o`: tables for people, JSON and YAML for programs. */
import { stringify } from 'yaml';
import * as z from 'zod';
import { FORMATS } from '../options.ts';

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

export const formatted = (format: Format, { data, table }: View): string => {
  if (format === 'json') return `${JSON.stringify(data, null, 2)}\n`;
  if (format === 'yaml') return stringify(data, { lineWidth: 0, aliasDuplicateObjects: false });
  return table(format === 'wide');
};
