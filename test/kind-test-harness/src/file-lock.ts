/**
 * A lock among processes of one machine: a file with its holder's pid, taken over when that process
 * is gone.
 */
import { randomUUID } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

import { hasCode } from './errors.ts';
import { isAlive } from './processes.ts';

const POLL_MS = 500;

/** Waits for the lock, says so once, runs `work`, and gives the lock back. */
export const withFileLock = async <T>(
  path: string,
  deps: { say: (line: string) => void; signal?: AbortSignal | undefined },
  work: () => Promise<T>,
): Promise<T> => {
  let said = false;
  while (!(await tryLock(path))) {
    if (!said) deps.say(`waiting for another process that holds ${path}`);
    said = true;
    await sleep(POLL_MS, undefined, deps.signal ? { signal: deps.signal } : {});
  }
  try {
    return await work();
  } finally {
    await rm(path, { force: true });
  }
};

/**
 * The lock appears with its content in one step (link), so that a crash leaves no lock without a
 * holder.
 */
const tryLock = async (path: string): Promise<boolean> => {
  const mine = `${path}.${randomUUID()}`;
  await writeFile(mine, String(process.pid));
  try {
    await link(mine, path);
    return true;
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
  } finally {
    await rm(mine, { force: true });
  }
  const holder = Number(await readFile(path, 'utf8').catch(() => ''));
  if (holder > 0 && !isAlive(holder)) await rm(path, { force: true });
  return false;
};
