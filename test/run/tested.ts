/**
 * The state of the harness in which all of its own tests passed, kept as a digest in a file that is committed. The harness rarely
 * changes and its tests take two minutes: `.ci/run` runs them when the digest differs. Unlike the history of git, a digest says the
 * same in every clone, after every merge, and of what is not committed.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** What decides on the outcome of the harness' tests; the Node that runs them counts, too. */
const PARTS = ['test/kind-test-harness', 'test/integration/harness'];
const RECORD = 'test/kind-test-harness/tested';
/** The record itself, and what people read. */
const isLeftOut = (file: string): boolean => file === RECORD || file.endsWith('.md');

/** @throws where `root` is no clone: git lists the files */
export const harnessDigest = (root: string): string => {
  const listed = spawnSync('git', ['ls-files', '-z', '-co', '--exclude-standard', '--', ...PARTS], {
    cwd: root,
    encoding: 'utf8',
  });
  if (listed.status !== 0) throw new Error(`git cannot list the harness: ${listed.stderr}`);
  const digest = createHash('sha256').update(process.version);
  for (const file of listed.stdout.split('\0').sort()) {
    const whole = path.join(root, file);
    if (file === '' || isLeftOut(file) || !existsSync(whole)) continue;
    digest.update(`\0${file}\0`).update(readFileSync(whole));
  }
  return digest.digest('hex');
};

/** Whether all tests passed in just this state. */
export const isTested = (root: string): boolean => {
  const record = path.join(root, RECORD);
  return existsSync(record) && readFileSync(record, 'utf8').trim() === harnessDigest(root);
};

/** The exit code of the tests; records the state when it is 0. What was changed while they ran is not tested. */
export const runAndRecord = async (root: string, tests: () => Promise<number>): Promise<number> => {
  const before = harnessDigest(root);
  const code = await tests();
  if (code === 0 && harnessDigest(root) === before)
    writeFileSync(path.join(root, RECORD), `${before}\n`);
  return code;
};
