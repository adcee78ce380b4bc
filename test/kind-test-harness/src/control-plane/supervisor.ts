/**
 * Runs the control plane's programs: a log and a pid file each, and what ends once all is up is
 * started again, as a kubelet does with static pods. So a test in any process can kill or freeze a
 * program by its pid file.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { CLUSTER_MARK, isMarked, isRunning, sendSignal } from '../processes.ts';
import type { ProgramName } from './programs.ts';

const RESTART_DELAY_MS = 1000;
/** Enough of a log to tell why a program failed. */
const LOG_TAIL_CHARS = 3000;

export type SupervisorOptions = {
  /** Folder of logs and pid files. */
  directory: string;
  clusterId: string;
  commandLine: (program: ProgramName) => readonly string[];
};

export type Supervisor = {
  start: (program: ProgramName) => void;
  /** From now on, a program that ends is started again. */
  keepUp: () => void;
  /** From now on, it isn't any more. */
  letGo: () => void;
  killAll: () => void;
  /** Which program has ended, with the end of its log; for the time before `keepUp`. */
  failure: () => Promise<string | undefined>;
};

export const createSupervisor = (options: SupervisorOptions): Supervisor => {
  const { directory } = options;
  const children = new Map<ProgramName, ChildProcess>();
  let keepsUp = false;

  const start = (program: ProgramName): void => {
    const [file = '', ...args] = options.commandLine(program);
    const log = openSync(logFile(directory, program), 'a');
    const child = spawn(file, args, {
      cwd: directory,
      env: { PATH: process.env['PATH'], HOME: directory, [CLUSTER_MARK]: options.clusterId },
      // the terminal's Ctrl-C must not end it before the harness has stopped its users
      detached: true,
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    child.on('error', () => {}); // seen by `failure`: it has neither pid nor exit code
    child.on('exit', () => {
      if (keepsUp) setTimeout(() => keepsUp && start(program), RESTART_DELAY_MS).unref();
    });
    child.unref();
    children.set(program, child);
    writeFileSync(pidFile(directory, program), String(child.pid));
  };

  return {
    start,
    keepUp: () => {
      keepsUp = true;
    },
    letGo: () => {
      keepsUp = false;
    },
    killAll: () => {
      for (const child of children.values()) child.kill('SIGKILL');
    },
    failure: async () => {
      const ended = [...children].find(([, child]) => !isRunning(child));
      if (!ended) return undefined;
      const [program, { exitCode, signalCode }] = ended;
      const log = await readFile(logFile(directory, program), 'utf8');
      return `${program} ended with ${exitCode ?? signalCode}:\n${log.slice(-LOG_TAIL_CHARS)}`;
    },
  };
};

/**
 * Sends a signal from any process of this user. @throws when the program doesn't run, or isn't the
 * harness's own.
 */
export const signalProgram = async (
  { directory, clusterId }: Pick<SupervisorOptions, 'directory' | 'clusterId'>,
  program: ProgramName,
  signal: NodeJS.Signals,
): Promise<void> => {
  const pid = Number(await readFile(pidFile(directory, program), 'utf8').catch(() => '0'));
  if (!(await isMarked(pid, CLUSTER_MARK, clusterId)) || !sendSignal(pid, signal)) {
    throw new Error(`${program} is not running under this harness`);
  }
};

const logFile = (directory: string, program: ProgramName): string =>
  join(directory, `${program}.log`);
const pidFile = (directory: string, program: ProgramName): string =>
  join(directory, `${program}.pid`);
