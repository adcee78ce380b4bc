/**
 * docs/status.md: what each reason means, and what to do, stands in its tables as it does in the
 * code; the rest of the page is written by hand.
 */
import { conditionReasons, reasons } from '#shared/protocol/reasons.ts';
import { own } from '#shared/util/own.ts';
import { cureInDocs, cures, FINE, removalCures } from '../../coordinator/views/what-to-do.ts';

/** A row of three columns: the reason, what it means, and what to do. */
const ROW = /^\| `([A-Z]\w+)` \| [^|]*\| [^|\n]+\|$/gm;
/** From here on what to do is about rules that are being deleted. */
const DELETIONS = '\n## A deletion is blocked\n';

/** @throws when a reason has no row, or no cure */
export const statusPage = (page: string): string => {
  const rows = new Set([...page.matchAll(ROW)].map(([, reason = '']) => reason));
  const fine = new Set<string>(FINE);
  const missing = [...sentences.keys()].filter((reason) => !fine.has(reason) && !rows.has(reason));
  if (missing.length > 0) throw new Error(`docs/status.md has no row for: ${missing.join(', ')}`);
  const [ofRules = '', ofDeletions = ''] = page.split(DELETIONS);
  const ofKinds = Object.fromEntries(
    Object.entries(cures).map(([reason, cure]) => [reason, cureInDocs(reason, cure)]),
  );
  return [filled(ofRules, ofKinds), filled(ofDeletions, removalCures)].join(DELETIONS);
};

const sentences: ReadonlyMap<string, string> = new Map(
  Object.entries({ ...reasons, ...conditionReasons }),
);

const filled = (part: string, cureFor: Readonly<Record<string, string>>): string =>
  part.replaceAll(ROW, (row: string, reason: string) => {
    const sentence = sentences.get(reason);
    if (sentence === undefined) return row;
    const cure = own(cureFor, reason);
    if (cure === undefined)
      throw new Error(`docs/status.md has a row for ${reason}, which no cure is for`);
    return `| \`${reason}\` | ${capitalised(sentence)}. | ${cure} |`;
  });

const capitalised = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
