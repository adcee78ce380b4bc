/** What the rows came to, as the table of docs/reliability.md. A run of some rows leaves the others as they are. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Row } from './row.ts';
import { rows } from './rows/all.ts';

export type Result = {
  row: Row;
  recoveredMs: number;
  /** What did not hold, in words. */
  broken: readonly string[];
};

/** Set by `npm run test:faults`: other runs change no file. */
export const TABLE_VARIABLE = 'SDEWAN_FAULTS_TABLE';

const ROOT = join(import.meta.dirname, '../..');
const PAGE = join(ROOT, 'docs/reliability.md');
const BEGIN = '<!-- begin faults -->';
const END = '<!-- end faults -->';

export const recordResults = (results: readonly Result[]): void => {
  if (process.env[TABLE_VARIABLE] === undefined) return;
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim();
  const commit = git('rev-parse', '--short', 'HEAD');
  const isChanged = git('status', '--porcelain', '--', ':!docs') !== '';
  const run = {
    commit: isChanged ? `${commit} and changes` : commit,
    date: new Date().toISOString().slice(0, 10),
  };
  writeFileSync(PAGE, withResults(readFileSync(PAGE, 'utf8'), results, run));
};

/** The page with the table in it. @throws Error where its marks are missing */
export const withResults = (
  page: string,
  results: readonly Result[],
  run: { commit: string; date: string },
  order: readonly Row[] = rows,
): string => {
  const [before, rest] = page.split(`${BEGIN}\n`);
  const [table, after] = rest?.split(END) ?? [];
  if (before === undefined || table === undefined || after === undefined)
    throw new Error(`docs/reliability.md has no ${BEGIN} and ${END}`);
  const known = new Map(
    table.split('\n').flatMap((line) => {
      const id = /^\| `([^`]+)` \|/.exec(line)?.[1];
      return id === undefined ? [] : [[id, line] as const];
    }),
  );
  for (const result of results) known.set(result.row.id, lineOf(result, run));
  const lines = order.flatMap(({ id }) => known.get(id) ?? []);
  return `${before}${BEGIN}\n${[HEAD, RULE, ...lines].join('\n')}\n${END}${after}`;
};

const HEAD =
  '| row | fault | holds as well | well again within | measured | result | commit | date |';
const RULE = '|---|---|---|---|---|---|---|---|';

const lineOf = (
  { row, recoveredMs, broken }: Result,
  { commit, date }: { commit: string; date: string },
): string => {
  const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
  const cells = [
    `\`${row.id}\``,
    row.fault,
    row.holds,
    `${row.boundMs / 1_000} s`,
    seconds(recoveredMs),
    broken.length === 0 ? 'holds' : `**${broken.length} did not hold**`,
    commit,
    date,
  ];
  return `| ${cells.join(' | ')} |`;
};
