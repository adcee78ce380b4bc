/**
 * Which policies nft refuses, when it refuses the table: those that its words name by a line, else
 * those that trials of halves of the table find. A trial changes nothing in the kernel.
 */
import {
  entriesAtLine,
  wholeFile,
  type PolicyTable,
  type TableEntry,
} from '#shared/policy/nft-table.ts';

/** nft names the file, the line from 1, and columns. */
const PLACE = /^[^\n:]*:(\d+):\d+-\d+: /gm;

export const tracedBy = <T extends TableEntry>(
  message: string,
  table: PolicyTable,
  entries: readonly T[],
): readonly T[] => {
  const file = wholeFile(table);
  const found = new Set(
    [...message.matchAll(PLACE)].flatMap(([, line]) => entriesAtLine(file, Number(line), entries)),
  );
  return entries.filter((entry) => found.has(entry));
};

/** Each is a transaction of nft, which takes seconds for a thousand policies. */
export const MAX_TRIALS = 64;

/** nft's words for each entry that it refuses by itself; as far as so many trials find. */
export const halved = async <T>(
  entries: readonly T[],
  refusal: (some: readonly T[]) => Promise<string | undefined>,
): Promise<ReadonlyMap<T, string>> => {
  const culprits = new Map<T, string>();
  let trials = 0;
  const search = async (some: readonly T[]): Promise<void> => {
    if (some.length === 0 || trials >= MAX_TRIALS) return;
    trials += 1;
    const message = await refusal(some);
    if (message === undefined) return;
    const [only] = some;
    if (some.length === 1 && only !== undefined) {
      culprits.set(only, message);
      return;
    }
    const middle = some.length >> 1;
    await search(some.slice(0, middle));
    await search(some.slice(middle));
  };
  await search(entries);
  return culprits;
};
