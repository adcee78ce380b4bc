/** `sdewan check` as a value and as text. */
import * as z from 'zod';
import { headOf } from '../../views/output/format.ts';
import { printable } from '../../views/output/table.ts';

export const itemSchema = z.object({
  state: z.enum(['Good', 'Bad', 'Unknown']),
  what: z.string(),
  cause: z.string().optional().describe('Absent where it is good.'),
  cure: z.string().optional().describe('What to do.'),
});
export type Item = z.infer<typeof itemSchema>;

export const checkViewSchema = z.object({
  ...headOf('Check'),
  result: z
    .enum(['Good', 'Bad', 'Unknown'])
    .describe('Unknown: nothing is bad, and not everything can be told.'),
  items: z.array(itemSchema),
});
export type CheckView = z.infer<typeof checkViewSchema>;

export const resultOf = (items: readonly Item[]): CheckView['result'] => {
  const has = (state: Item['state']): boolean => items.some((item) => item.state === state);
  return has('Bad') ? 'Bad' : has('Unknown') ? 'Unknown' : 'Good';
};

export const checkText = (items: readonly Item[]): string =>
  items
    .flatMap(({ state, what, cause, cure }) => [
      `${MARKS[state]} ${printable(what)}\n`,
      ...(cause === undefined ? [] : [`    cause: ${printable(cause)}\n`]),
      ...(cure === undefined ? [] : [`    cure:  ${printable(cure)}\n`]),
    ])
    .join('');

const MARKS: Readonly<Record<Item['state'], string>> = { Good: '✓', Bad: '✗', Unknown: '?' };
