/** The node's namespaces: started and ended by the guard, entered by the pid of its init. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { cacheDirectory } from '../paths.ts';
import { run, type RunResult } from '../run.ts';
import { NODE_NAME } from './files.ts';
import { NODE_PATH } from './requirements.ts';

export const NODE_ENVIRONMENT: NodeJS.ProcessEnv = { PATH: NODE_PATH, HOME: '/root' };

const COMMAND_TIMEOUT_MS = 60_000;

export type Namespaces = {
  /** Pid of the node's init as this machine sees it. */
  initPid: number;
  /** Removed by the guard; its last part is also the name of the node's control group. */
  runDirectory: string;
  /**
   * Ends everything inside, and resolves when processes, control groups and files are gone.
   * Idempotent.
   */
  release: () => Promise<void>;
};

export type NamespacesOptions = {
  /** Path of the node helper. */
  helper: string;
  podLogsDirectory: string;
  /** What the guard says goes there. */
  logFile: string;
};

/**
 * Starts a guard, which lives as long as this process, and the namespaces with it. @throws with
 * what the guard said.
 */
export const startNamespaces = async (options: NamespacesOptions): Promise<Namespaces> => {
  const log = openSync(options.logFile, 'a');
  // On disk, not in the clusters' folder: that may be in memory, and images are large.
  const runs = join(cacheDirectory(), 'nodes');
  const guard = spawn(options.helper, ['guard', runs, NODE_NAME, options.podLogsDirectory], {
    detached: true, // a Ctrl-C is for the harness; the guard sees its end
    stdio: ['pipe', 'pipe', log],
    cwd: '/',
    env: NODE_ENVIRONMENT,
  });
  closeSync(log);
  const { stdin, stdout } = guard;
  if (!stdin || !stdout) throw new Error('the guard has no pipes');
  const gone = once(guard, 'exit');
  stdin.on('error', () => {}); // a guard that was killed is noticed by `release`
  const [line] = await Promise.race([
    once(createInterface(stdout), 'line'),
    gone.then(async () => {
      throw new Error(`the node's namespaces: ${await readFile(options.logFile, 'utf8')}`);
    }),
  ]);
  const started: { run: string; init: number } = JSON.parse(String(line));
  guard.unref();

  return {
    initPid: started.init,
    runDirectory: started.run,
    release: async () => {
      guard.ref();
      stdin.end();
      await gone;
    },
  };
};

/** The command line that starts a program inside. */
export const inside = (initPid: number, argv: readonly string[]): string[] => [
  'nsenter',
  `--target=${initPid}`,
  '--mount',
  '--net',
  '--uts',
  '--ipc',
  '--pid',
  '--',
  ...argv,
];

/** Runs a program inside to its end. */
export const runInside = async (initPid: number, argv: readonly string[]): Promise<RunResult> =>
  await run(inside(initPid, argv), { env: NODE_ENVIRONMENT, timeoutMs: COMMAND_TIMEOUT_MS });

/** @throws with its stderr when it fails. */
export const requireInside = async (initPid: number, argv: readonly string[]): Promise<string> => {
  const result = await runInside(initPid, argv);
  if (result.code !== 0) throw new Error(`${argv.join(' ')} failed in the node: ${result.stderr}`);
  return result.stdout;
};
