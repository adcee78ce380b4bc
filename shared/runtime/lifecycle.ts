/**
 * From the first line of a program to its exit code: signals become an AbortSignal, and the end is
 * always bounded in time.
 */
import { EnvError, EXIT_CODE_USAGE } from './env.ts';
import { messageOf } from './errors.ts';

export type ProgramOptions = {
  name: string;
  /** Runs until the signal aborts, then cleans up and resolves. */
  main: (signal: AbortSignal) => Promise<void>;
  /** From the first SIGTERM or SIGINT to a forced exit. Default 10 s. */
  graceMs?: number;
  /** The process; tests hand in another. */
  process?: ProcessLike;
};

export type ProcessLike = {
  on: (event: 'SIGTERM' | 'SIGINT', listener: () => void) => unknown;
  exit: (code: number) => void;
  stderr: { write: (text: string) => unknown };
};

/** What the signal is aborted with. */
export class Shutdown extends Error {
  override name = 'Shutdown';
}

/**
 * Exits 0 when `main` resolves, also after a signal; 2 when the environment is wrong; 1 when it
 * throws or outlasts the grace period. A second signal exits at once.
 */
export const runProgram = async (options: ProgramOptions): Promise<void> => {
  const { name, main, graceMs = 10_000, process: host = process } = options;
  const controller = new AbortController();
  const onSignal = (signal: string, number: number) => (): void => {
    if (controller.signal.aborted) {
      host.exit(128 + number);
      return;
    }
    controller.abort(new Shutdown(signal));
    setTimeout(() => {
      host.stderr.write(`${name}: not stopped ${graceMs} ms after ${signal}, leaving\n`);
      host.exit(1);
    }, graceMs).unref();
  };
  host.on('SIGTERM', onSignal('SIGTERM', 15));
  host.on('SIGINT', onSignal('SIGINT', 2));
  try {
    await main(controller.signal);
    host.exit(0);
  } catch (error) {
    if (controller.signal.aborted && error === controller.signal.reason) {
      host.exit(0);
      return;
    }
    const usage = error instanceof EnvError;
    host.stderr.write(`${name}: ${usage ? error.message : describe(error)}\n`);
    host.exit(usage ? EXIT_CODE_USAGE : 1);
  }
};

const describe = (error: unknown): string =>
  error instanceof Error && error.stack !== undefined
    ? `${messageOf(error)}\n${error.stack}`
    : messageOf(error);
