/**
 * Progress for people: silent while things are quick, so that a warm start prints nothing into a
 * test's output.
 */

/** A start that takes longer than this is worth explaining. */
const QUIET_MS = 2000;

export type Progress = {
  say: (line: string) => void;
  /** Drops what has not been printed yet. */
  end: () => void;
};

/**
 * With `onProgress`, every line goes there at once; without, lines go to stderr once two seconds
 * have passed.
 */
export const createProgress = (onProgress?: (line: string) => void): Progress => {
  if (onProgress) return { say: onProgress, end: () => {} };

  let waiting: string[] | undefined = [];
  const print = (line: string) => process.stderr.write(`kind-test-harness: ${line}\n`);
  const timer = setTimeout(() => {
    for (const line of waiting ?? []) print(line);
    waiting = undefined;
  }, QUIET_MS);
  timer.unref();

  return {
    say: (line) => {
      if (waiting) waiting.push(line);
      else print(line);
    },
    end: () => {
      clearTimeout(timer);
      waiting = [];
    },
  };
};

/** `95` becomes `1 min 35 s`. */
export const formatSeconds = (seconds: number): string => {
  const whole = Math.round(seconds);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
};

/** `134000802` becomes `134 MB`. */
export const formatBytes = (bytes: number): string =>
  bytes < 1_000_000 ? `${Math.ceil(bytes / 1000)} kB` : `${Math.round(bytes / 1_000_000)} MB`;
