/** The rows of the fault table that a commit has to pass. */
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { ROWS_VARIABLE, shareOf } from '../faults/choice.ts';
import type { Project } from './stages.ts';

const root = path.resolve(import.meta.dirname, '../..');

/** Says which, and how to have them again. */
export const shareOfCommit = (): Project => {
  const options = { cwd: root, encoding: 'utf8' } as const;
  const commit = execFileSync('git', ['rev-parse', 'HEAD'], options).trim();
  const ids = shareOf(commit).map(({ id }) => id);
  console.log(`faults of ${commit.slice(0, 7)}: npm run test:faults -- ${ids.join(' ')}`);
  return { name: 'faults', env: { [ROWS_VARIABLE]: ids.join(',') } };
};
