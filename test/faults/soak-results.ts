/** What the soak came to, as a table of docs/reliability.md and its picture. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { drawnLines } from '../bench/charts.ts';
import { between, ROOT, runOf } from './run-of.ts';
import type { Sample } from './slope.ts';

export type Followed = { label: string; pid: number; memory: Sample[]; files: Sample[] };
export type Growth = { label: string; kilobytes: number; files: number };

/** Set by `npm run suite soak`: other runs change no file. */
export const SOAK_VARIABLE = 'SDEWAN_SOAK_RECORD';

const PAGE = join(ROOT, 'docs/reliability.md');
const PICTURE = join(ROOT, 'docs/soak.svg');
const MINUTE_MS = 60_000;

export const recordSoak = (
  all: readonly Followed[],
  grows: readonly Growth[],
  { minutes, changes }: { minutes: number; changes: number },
): void => {
  if (process.env[SOAK_VARIABLE] === undefined) return;
  const lines = (of: (one: Followed) => readonly Sample[], unit: number) =>
    all.map((one) => ({
      label: one.label,
      points: of(one).map(({ at, value }) => [at / MINUTE_MS, value / unit] as const),
    }));
  writeFileSync(
    PICTURE,
    drawnLines([
      { title: 'resident memory, MiB', lines: lines(({ memory }) => memory, 1_024) },
      { title: 'open files', lines: lines(({ files }) => files, 1) },
    ]),
  );
  const { commit, date } = runOf();
  const rows = grows.map(({ label, kilobytes, files }) => {
    const memory = all.find((one) => one.label === label)?.memory ?? [];
    const last = Math.round((memory.at(-1)?.value ?? 0) / 1_024);
    return `| ${label} | ${last} MiB | ${kilobytes} kB | ${files} |`;
  });
  const table = [
    `${minutes} minutes and ${changes} changes, ${commit}, ${date}:`,
    '',
    '| process | memory at the end | more memory in ten minutes | more open files in ten minutes |',
    '|---|---|---|---|',
    ...rows,
  ];
  writeFileSync(
    PAGE,
    between(readFileSync(PAGE, 'utf8'), 'soak', () => `${table.join('\n')}\n`),
  );
};
