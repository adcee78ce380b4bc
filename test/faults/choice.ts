/** Which rows run: those that are named, a commit's share of them, or all that fit into the day. */
import { createHash } from 'node:crypto';
import type { Row } from './row.ts';
import { rows } from './rows/all.ts';

/** Ids, separated by commas; `night`: all; absent: all but those that take minutes. */
export const ROWS_VARIABLE = 'SDEWAN_FAULTS';

/** @throws Error that names what there is */
export const chosenRows = (asked = process.env[ROWS_VARIABLE]): Row[] => {
  if (asked === 'night') return [...rows];
  if (asked === undefined || asked === '') return rows.filter(({ isLong }) => !isLong);
  return asked.split(',').map((id) => {
    const row = rows.find((each) => each.id === id);
    if (!row)
      throw new Error(
        `no row is called ${id}: there are ${rows.map((each) => each.id).join(', ')}`,
      );
    return row;
  });
};

const SHARE = 10;
/** What is left of four minutes when the installation is up. */
const SHARE_SECONDS = 200;

/**
 * A tenth of the rows, chosen by the commit: other rows for each commit, the same ones again for
 * the same.
 */
export const shareOf = (commit: string, all: readonly Row[] = rows): Row[] => {
  const drawn = all
    .filter(({ isLong }) => !isLong)
    .map((row) => ({ row, lot: createHash('sha256').update(`${commit} ${row.id}`).digest('hex') }))
    .toSorted((one, other) => (one.lot < other.lot ? -1 : 1))
    .slice(0, Math.ceil(all.length / SHARE))
    .map(({ row }) => row);
  let seconds = 0;
  return drawn.filter(({ takesSeconds }, index) => {
    seconds += takesSeconds;
    return index === 0 || seconds <= SHARE_SECONDS;
  });
};
