/** What of two texts differs, line by line. Pure. */
import * as z from 'zod';

export const lineSchema = z.object({
  sign: z.enum([' ', '-', '+']).describe('In both, only before, only behind.'),
  text: z.string(),
});
export type Line = z.infer<typeof lineSchema>;

/** As few changed lines as can be; of a few dozen lines each. */
export const changedLines = (before: readonly string[], after: readonly string[]): Line[] => {
  const common = commonOf(before, after);
  const lines: Line[] = [];
  let [left, right] = [0, 0];
  const take = (sign: Line['sign'], text: string | undefined): void => {
    if (text !== undefined) lines.push({ sign, text });
  };
  for (const text of [...common, undefined]) {
    while (left < before.length && before[left] !== text) take('-', before[left++]);
    while (right < after.length && after[right] !== text) take('+', after[right++]);
    take(' ', text);
    left += 1;
    right += 1;
  }
  return lines;
};

/** The longest list of lines that both have in this order. */
const commonOf = (before: readonly string[], after: readonly string[]): string[] => {
  let row: string[][] = after.map(() => []);
  for (const one of before) {
    const next: string[][] = [];
    for (const [at, other] of after.entries()) {
      const above = row[at] ?? [];
      const beside = next[at - 1] ?? [];
      const corner = at === 0 ? [] : (row[at - 1] ?? []);
      const longer = above.length >= beside.length ? above : beside;
      next.push(one === other ? [...corner, one] : longer);
    }
    row = next;
  }
  return row.at(-1) ?? [];
};
