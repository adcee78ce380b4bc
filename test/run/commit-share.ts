/**
 * What a commit has to pass of the tests that are too long for each: others for each commit, the
 * same ones again for the same. The nightly runs all.
 */
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { ROWS_VARIABLE, shareOf } from '../faults/choice.ts';
import type { Project } from './stages.ts';

const root = path.resolve(import.meta.dirname, '../..');
const options = { cwd: root, encoding: 'utf8' } as const;
const commit = execFileSync('git', ['rev-parse', 'HEAD'], options).trim();

/** Rows of the fault table. Says which, and how to have them again. */
export const shareOfFaults = (): Project => {
  const ids = shareOf(commit).map(({ id }) => id);
  console.log(`faults of ${commit.slice(0, 7)}: npm run suite -- faults ${ids.join(' ')}`);
  return { name: 'faults', env: { [ROWS_VARIABLE]: ids.join(',') } };
};

/** One of two parts of the attacks by sheer size. Says how to have the same part again. */
export const shareOfLoad = (): Project => {
  const shard = `${1 + (Number.parseInt(commit.slice(0, 8), 16) % 2)}/2`;
  console.log(
    `load of ${commit.slice(0, 7)}: npx vitest run --config test/vitest.config.ts --project load --shard ${shard}`,
  );
  return { name: 'load', shard };
};
