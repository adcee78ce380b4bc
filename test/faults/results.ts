/**
 * What the rows came to, as the table of docs/reliability.md. A run of some rows leaves the others
 * as they are.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { between, ROOT, runOf, type Run } from './run-of.ts';
import type { Row } from './row.ts';
import { rows } from './rows/all.ts';

export type Result = {
  row: Row;
  recoveredMs: number;
  /** What did not hold, in words. */
  broken: readonly string[];
};

/** Set by `npm run suite faults`: other runs change no file. */
export const TABLE_VARIABLE = 'SDEWAN_FAULTS_TABLE';

const PAGE = join(ROOT, 'docs/reliability.md');

export const recordResults = (results: readonly Result[]): void => {
  if (process.env[TABLE_VARIABLE] === undefined) return;
  writeFileSync(PAGE, withResults(readFileSync(PAGE, 'utf8'), results, runOf()));
};

/** The page with the table in it. @throws Error where its marks are missing */
export const withResults = (
  page: string,
  results: readonly Result[],
  run: Run,
  order: readonly Row[] = rows,
): string =>
  between(page, 'faults', (table) => {
    const known = new Map(
      table.split('\n').flatMap((line) => {
        const id = /^\| `([^`]+)` \|/.exec(line)?.[1];
        return id === undefined ? [] : [[id, line] as const];
      }),
    );
    for (const result of results) known.set(result.row.id, lineOf(result, run));
    const lines = order.flatMap(({ id }) => known.get(id) ?? []);
    return `${[HEAD, RULE, ...lines].join('\n')}\n`;
  });

const HEAD = '| row | fault | holds as well | well again within | measured | commit |';
const RULE = '|---|---|---|---|---|---|';

const lineOf = ({ row, recoveredMs, broken }: Result, { commit }: Run): string => {
  const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
  const cells = [
    `\`${row.id}\``,
    row.fault,
    row.holds || '–',
    `${row.boundMs / 1_000} s`,
    broken.length === 0 ? seconds(recoveredMs) : `**${broken.length} did not hold**`,
    commit,
  ];
  return `| ${cells.join(' | ')} |`;
};
