/** Tables of Markdown. */
import type * as z from 'zod';
import { textOf } from './crd.ts';

export const tableOf = (headers: readonly string[], rows: readonly (readonly string[])[]): string =>
  [headers, headers.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`)
    .join('\n');

/** Every variable: name, default, meaning. @throws when one has no description */
export const envTable = (schema: z.ZodObject<Record<string, z.ZodType>>): string =>
  tableOf(
    ['Variable', 'Default', 'Meaning'],
    Object.entries(schema.shape).map(([name, field]) => {
      const { description } = field;
      if (!description) throw new Error(`${name} has no description (.describe must come last)`);
      return [`\`${name}\``, defaultOf(field), description];
    }),
  );

const defaultOf = (field: z.ZodType): string => {
  const unset = field.safeParse(undefined);
  if (!unset.success) return 'required';
  if (unset.data === undefined) return 'not set';
  return `\`${textOf(unset.data)}\``;
};
