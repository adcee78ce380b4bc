/** Runs a program to its end and keeps what it printed. */
import { spawn } from 'node:child_process';

export type RunResult = { stdout: string; stderr: string; code: number };

export type RunOptions = {
  stdin?: string;
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  /** The program is killed after this time and the run rejects. */
  timeoutMs?: number;
  signal?: AbortSignal | undefined;
  /** Called with each line of stderr while the program runs. */
  onErrorLine?: (line: string) => void;
};

/**
 * Resolves whatever the exit code is. @throws when the program cannot be started, takes too long or
 * is aborted.
 */
export const run = async (
  command: readonly string[],
  options: RunOptions = {},
): Promise<RunResult> => {
  const [file = '', ...args] = command;
  const timeout = options.timeoutMs === undefined ? [] : [AbortSignal.timeout(options.timeoutMs)];
  const signals = options.signal ? [options.signal, ...timeout] : timeout;
  const child = spawn(file, args, {
    env: options.env,
    cwd: options.cwd,
    stdio: ['pipe', 'pipe', 'pipe'],
    killSignal: 'SIGKILL',
    ...(signals.length > 0 && { signal: AbortSignal.any(signals) }),
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  if (options.onErrorLine) eachLine(child.stderr, options.onErrorLine);
  child.stdin.on('error', () => {}); // the program may end without reading its input
  child.stdin.end(options.stdin ?? '');

  return await new Promise((resolve, reject) => {
    child.on('error', (cause) => reject(new Error(`${describe(command)} failed`, { cause })));
    child.on('close', (code) => resolve({ stdout, stderr, code: code ?? 137 }));
  });
};

const describe = (command: readonly string[]): string => command.slice(0, 3).join(' ');

const eachLine = (stream: NodeJS.ReadableStream, onLine: (line: string) => void): void => {
  let rest = '';
  stream.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) onLine(line);
  });
};
