/**
 * The harness's end of the guardian: its folder, its pipe, and the sweep of what a lost guardian
 * left behind.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { ensureClustersDirectory } from '../paths.ts';
import { CLUSTER_MARK, isAlive, killMarked } from '../processes.ts';

const GUARDIAN_PROGRAM = join(import.meta.dirname, 'guardian.ts');
const GUARDIAN_PID_FILE = 'guardian.pid';

export type GuardedDirectory = {
  /** Goes into the environment of every process of the cluster, as `KTH_CLUSTER_ID`. */
  id: string;
  directory: string;
  /**
   * Kills the cluster's processes, removes its folder, and resolves when both are gone. Idempotent.
   */
  release: () => Promise<void>;
};

/**
 * Makes a cluster's folder whose content and processes vanish with this process, however it ends.
 */
export const createGuardedDirectory = async (): Promise<GuardedDirectory> => {
  const clusters = ensureClustersDirectory();
  await sweep(clusters);

  const id = randomBytes(4).toString('hex');
  const directory = join(clusters, id);
  await mkdir(directory, { mode: 0o700 });
  const guardian = spawn(process.execPath, [GUARDIAN_PROGRAM, id, directory], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    cwd: '/',
  });
  const gone = once(guardian, 'exit');
  guardian.stdin.on('error', () => {}); // a guardian that was killed is noticed by `release`
  await writeFile(join(directory, GUARDIAN_PID_FILE), String(guardian.pid));
  guardian.unref();

  return {
    id,
    directory,
    release: async () => {
      guardian.ref();
      guardian.stdin.end();
      await gone;
      await remove(id, directory); // nothing left to do unless the guardian was killed
    },
  };
};

/** Removes clusters whose guardian was killed together with their harness. */
const sweep = async (clusters: string): Promise<void> => {
  for (const id of await readdir(clusters)) {
    const directory = join(clusters, id);
    const pid = await readFile(join(directory, GUARDIAN_PID_FILE), 'utf8').catch(() => undefined);
    if (pid !== undefined && !(await isGuardian(Number(pid), id))) await remove(id, directory);
  }
};

/** A pid alone may belong to a stranger by now. */
const isGuardian = async (pid: number, id: string): Promise<boolean> => {
  if (!isAlive(pid)) return false;
  const commandLine = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  return commandLine.split('\0').includes(id);
};

const remove = async (id: string, directory: string): Promise<void> => {
  await killMarked(CLUSTER_MARK, id);
  await rm(directory, { recursive: true, force: true });
};
