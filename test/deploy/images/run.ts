/** Runs a program that must succeed. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** A build that fetches from a registry and compiles nothing takes minutes at most. */
const TIMEOUT_MS = 900_000;

/** Its stdout. @throws with the end of its stderr when it fails or takes too long. */
export const runOrThrow = async (
  command: readonly string[],
  timeoutMs = TIMEOUT_MS,
): Promise<string> => {
  const [file = '', ...args] = command;
  try {
    const { stdout } = await execute(file, args, { timeout: timeoutMs, maxBuffer: 64_000_000 });
    return stdout;
  } catch (cause) {
    const stderr = cause instanceof Error && 'stderr' in cause ? String(cause.stderr) : '';
    throw new Error(`${command.join(' ')} failed\n${stderr.slice(-2000)}`, { cause });
  }
};

export const succeeds = async (
  command: readonly string[],
  timeoutMs = TIMEOUT_MS,
): Promise<boolean> =>
  await runOrThrow(command, timeoutMs).then(
    () => true,
    () => false,
  );
