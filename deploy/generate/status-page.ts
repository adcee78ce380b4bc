/** docs/status.md: what each reason means stands in its tables as it does in the code; the rest of the page is written by hand. */
import { conditionReasons, reasons } from '#shared/protocol/reasons.ts';

/** Rules with these have no problem, or are gone. */
const FINE = new Set(['Applied', 'Removed', 'InSync', 'AppliedInFiles']);
/** Of three columns: the reason, what it means, and what to do. */
const ROW = /^\| `([A-Z]\w+)` \| [^|]*\|(?= [^|\n]+\|$)/gm;

/** @throws when a reason has no row */
export const statusPage = (page: string): string => {
  const sentences: ReadonlyMap<string, string> = new Map(
    Object.entries({ ...reasons, ...conditionReasons }),
  );
  const rows = new Set([...page.matchAll(ROW)].map(([, reason = '']) => reason));
  const missing = [...sentences.keys()].filter((reason) => !FINE.has(reason) && !rows.has(reason));
  if (missing.length > 0) throw new Error(`docs/status.md has no row for: ${missing.join(', ')}`);
  return page.replaceAll(ROW, (row: string, reason: string) => {
    const sentence = sentences.get(reason);
    return sentence === undefined ? row : `| \`${reason}\` | ${capitalised(sentence)}. |`;
  });
};

const capitalised = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
