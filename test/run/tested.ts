/**
 * The state in which all tests of a suite passed, kept as a digest in a file that is committed, a
 * line for each suite. The command that runs a suite writes its line, and `.ci/run` runs those
 * whose digest differs. Unlike the history of git, a digest says the same in every clone, after
 * every merge, and of what is not committed.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import * as z from 'zod';

/** From the root of the clone. */
export const RECORD = 'test/run/tested.json';

export type Inputs = {
  /** Pathspecs of git: folders and files; `:!agent/network-policy` leaves out. */
  paths: readonly string[];
  /** What else decides: how the suite is configured. */
  settings: unknown;
};

/** The hash of the pinned Node and of what all suites stand on. */
const COMMON = ['package-lock.json', 'test/kind-test-harness'];

/** Unit tests of the product are `npm test`'s. */
const isUnitTest = (file: string): boolean =>
  /^(agent|coordinator|shared|deploy)\/.*\.test\.ts$/.test(file);

/** What docs/ says is run where a suite has it among its inputs. */
const isForUsers = (file: string): boolean =>
  file.endsWith('.md') && !file.startsWith('docs/') && file !== 'README.md';

/** @throws where `root` is no clone: git lists the files */
export const filesOf = (root: string, paths: readonly string[]): string[] => {
  const args = ['ls-files', '-z', '-co', '--exclude-standard', '--', ...paths, ...COMMON];
  const listed = spawnSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 64_000_000 });
  if (listed.status !== 0) throw new Error(`git cannot list the inputs: ${listed.stderr}`);
  return [...new Set(listed.stdout.split('\0'))]
    .filter((file) => file !== '' && !isUnitTest(file) && !isForUsers(file))
    .filter((file) => existsSync(path.join(root, file)))
    .sort();
};

export const digestOf = (root: string, inputs: Inputs): string => {
  const digest = createHash('sha256')
    .update(process.version)
    // vitest's settings name the folder of the clone, which a record must not.
    .update(JSON.stringify(inputs.settings).replaceAll(root, ''));
  for (const file of filesOf(root, inputs.paths))
    digest.update(`\0${file}\0`).update(readFileSync(path.join(root, file)));
  return digest.digest('hex').slice(0, DIGITS);
};
/** It is no signature, and a line stays short. */
const DIGITS = 32;

const recordsIn = (root: string): Record<string, string> => {
  const file = path.join(root, RECORD);
  return existsSync(file)
    ? z.record(z.string(), z.string()).parse(JSON.parse(readFileSync(file, 'utf8')))
    : {};
};

/** Whether all tests passed in just this state. */
export const isTested = (root: string, suite: string, inputs: Inputs): boolean =>
  recordsIn(root)[suite] === digestOf(root, inputs);

/**
 * What the run says, after it; records the state where it passed. What was changed while it ran is
 * not tested.
 */
export const runAndRecord = async <T extends { hasPassed: boolean }>(
  root: string,
  { suite, inputs }: { suite: string; inputs: Inputs },
  run: () => Promise<T>,
): Promise<T> => {
  const before = digestOf(root, inputs);
  const result = await run();
  if (result.hasPassed && digestOf(root, inputs) === before) {
    const records = { ...recordsIn(root), [suite]: before };
    const lines = JSON.stringify(records, Object.keys(records).sort(), 2);
    writeFileSync(path.join(root, RECORD), `${lines}\n`);
  }
  return result;
};
