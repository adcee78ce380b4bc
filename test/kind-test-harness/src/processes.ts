/**
 * Finds and ends processes by a mark in their environment. Unlike a pid or a process group, the
 * mark survives daemonising and re-parenting and cannot be reused by a stranger.
 */
import type { ChildProcess } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

import { hasCode } from './errors.ts';

/** Every process that a cluster starts has its cluster's id in this variable. */
export const CLUSTER_MARK = 'KTH_CLUSTER_ID';
/** Every process of a container has the container's id in this variable. */
export const CONTAINER_MARK = 'KTH_CONTAINER_ID';

const KILL_POLL_MS = 20;

/**
 * Whether the child was started and has not ended yet. One that a signal has ended has no exit
 * code.
 */
export const isRunning = ({ pid, exitCode, signalCode }: ChildProcess): boolean =>
  pid !== undefined && exitCode === null && signalCode === null;

export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return hasCode(error, 'EPERM');
  }
};

/** True for a process whose environment has `name=value`. */
export const isMarked = async (pid: number, name: string, value: string): Promise<boolean> => {
  const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
  return environment.split('\0').includes(`${name}=${value}`);
};

/**
 * Pids whose environment has `name=value`; processes of other users, zombies and this process are
 * left out.
 */
export const findMarked = async (name: string, value: string): Promise<number[]> => {
  const pids = (await readdir('/proc')).map(Number).filter((pid) => pid > 0 && pid !== process.pid);
  const marked = await Promise.all(
    pids.map(async (pid) => ((await isMarked(pid, name, value)) ? [pid] : [])),
  );
  return marked.flat();
};

/** SIGKILLs every marked process, and those they start meanwhile, until none is left. */
export const killMarked = async (name: string, value: string): Promise<void> => {
  for (;;) {
    const pids = await findMarked(name, value);
    if (pids.length === 0) return;
    for (const pid of pids) sendSignal(pid, 'SIGKILL');
    await sleep(KILL_POLL_MS);
  }
};

/** Signals a process, or with a negative pid a process group. False when it is gone. */
export const sendSignal = (pid: number, signal: NodeJS.Signals): boolean => {
  try {
    process.kill(pid, signal);
    return true;
  } catch {
    return false;
  }
};
