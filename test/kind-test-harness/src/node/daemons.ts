/**
 * The node's daemons. Any process of this machine's root can stop and start them: what they are is
 * in the node's record.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

import { isRunning, sendSignal } from '../processes.ts';
import { inside, NODE_ENVIRONMENT } from './namespaces.ts';

export type DaemonName = 'containerd' | 'kubelet' | 'kube-proxy' | 'cluster-dns';

export type Daemon = { name: DaemonName; argv: readonly string[]; logFile: string };

const POLL_MS = 20;

/** Its end, should it come, is the returned process's end. */
export const startDaemon = (initPid: number, daemon: Daemon): ChildProcess => {
  const log = openSync(daemon.logFile, 'a');
  const [file = '', ...args] = inside(initPid, daemon.argv);
  const child = spawn(file, args, {
    cwd: '/',
    env: NODE_ENVIRONMENT,
    detached: true, // a Ctrl-C is for the harness
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  child.on('error', () => {}); // seen by `waitFor`: it has neither pid nor exit code
  child.unref();
  return child;
};

/** SIGKILLs it and resolves when it is gone. */
export const killDaemon = async (initPid: number, daemon: Daemon): Promise<void> => {
  for (;;) {
    const pids = await findDaemon(initPid, daemon);
    if (pids.length === 0) return;
    for (const pid of pids) sendSignal(pid, 'SIGKILL');
    await sleep(POLL_MS);
  }
};

/**
 * Polls until `isUp`. @throws with the end of its log when the daemon ends, or after `timeoutMs`.
 */
export const waitFor = async (
  daemon: Daemon,
  child: ChildProcess,
  isUp: () => Promise<boolean>,
  timeoutMs: number,
): Promise<void> => {
  const deadline = Date.now() + timeoutMs;
  while (!(await isUp())) {
    const runs = isRunning(child);
    if (!runs || Date.now() > deadline) {
      const log = await readFile(daemon.logFile, 'utf8');
      throw new Error(
        `${daemon.name} ${runs ? 'does not come up' : 'ended'}:\n${log.slice(-3000)}`,
      );
    }
    await sleep(POLL_MS);
  }
};

/**
 * Pids, as this machine sees them, of the node's processes with this command line; those of
 * containers are not among them.
 */
const findDaemon = async (initPid: number, { argv }: Daemon): Promise<number[]> => {
  const namespace = await readlink(`/proc/${initPid}/ns/pid`);
  const found = (await readdir('/proc')).map(Number).filter((pid) => pid > 0);
  const pids = await Promise.all(
    found.map(async (pid) => {
      if ((await readlink(`/proc/${pid}/ns/pid`).catch(() => '')) !== namespace) return [];
      const commandLine = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
      return commandLine === `${argv.join('\0')}\0` ? [pid] : [];
    }),
  );
  return pids.flat();
};
