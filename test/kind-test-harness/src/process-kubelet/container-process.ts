/**
 * One run of one container: a process in a session of its own, its output straight in the log file,
 * nothing left behind.
 */
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';

import { CONTAINER_MARK, isRunning, killMarked, sendSignal } from '../processes.ts';

export type ProcessOptions = {
  containerId: string;
  command: readonly string[];
  /** With the container's mark. */
  env: Readonly<Record<string, string>>;
  workingDirectory: string;
  /** Appended to. */
  logFile: string;
};

export type ProcessEnd = { exitCode: number; reason: string; message?: string };

export type ContainerProcess = {
  /** Absent when the program could not be started. */
  pid: number | undefined;
  /** Resolves when the process and all that it left behind are gone. Never rejects. */
  ended: Promise<ProcessEnd>;
  signal: (signal: NodeJS.Signals) => void;
};

export const startProcess = (options: ProcessOptions): ContainerProcess => {
  const [file = '', ...args] = options.command;
  mkdirSync(dirname(options.logFile), { recursive: true });
  const log = openSync(options.logFile, 'a');
  const child = spawn(file, args, {
    cwd: options.workingDirectory,
    env: options.env,
    detached: true,
    stdio: ['ignore', log, log],
  });
  closeSync(log);

  const exit = new Promise<ProcessEnd>((resolve) => {
    child.on('error', (error) => {
      resolve({ exitCode: 128, reason: 'StartError', message: error.message });
    });
    child.on('exit', (code, signal) => resolve(describeExit(code, signal)));
  });
  return {
    pid: child.pid,
    // What the main process leaves behind dies with it, as with its PID namespace in a real
    // container.
    ended: exit.then(async (end) => {
      await killMarked(CONTAINER_MARK, options.containerId);
      return end;
    }),
    signal: (signal) => {
      if (child.pid !== undefined && isRunning(child)) sendSignal(child.pid, signal);
    },
  };
};

const SIGNAL_NUMBERS: Partial<Record<NodeJS.Signals, number>> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGABRT: 6,
  SIGKILL: 9,
  SIGSEGV: 11,
  SIGTERM: 15,
};

/** A shell's numbers: 128 plus the signal. */
const describeExit = (code: number | null, signal: NodeJS.Signals | null): ProcessEnd => {
  const exitCode = code ?? 128 + (signal ? (SIGNAL_NUMBERS[signal] ?? 0) : 0);
  return { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error' };
};
