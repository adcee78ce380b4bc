/** What of two texts differs, line by line. Pure. */
import { diff } from 'node:util';
import * as z from 'zod';

export const lineSchema = z.object({
  sign: z.enum([' ', '-', '+']).describe('In both, only before, only behind.'),
  text: z.string(),
});
export type Line = z.infer<typeof lineSchema>;

/** As few changed lines as can be; what goes stands before what comes in its place. */
export const changedLines = (before: readonly string[], after: readonly string[]): Line[] => {
  const lines: Line[] = [];
  // Node 26 fails where neither has any, as where a rule has no section.
  if (before.length === 0 && after.length === 0) return lines;
  for (const [side, text] of diff(before, after)) {
    const sign = side === 0 ? ' ' : side > 0 ? '-' : '+';
    const place =
      sign === '-' ? lines.findLastIndex((line) => line.sign !== '+') + 1 : lines.length;
    lines.splice(place, 0, { sign, text });
  }
  return lines;
};
