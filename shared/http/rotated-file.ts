/**
 * Files that others replace while we run: tokens, certificates, passwords. Read again by age, not
 * by inotify: projected volumes swap a symlink above the file, which a watch on the file never
 * sees.
 */
import { readFile } from 'node:fs/promises';
import { systemClock, type Clock } from '../runtime/clock.ts';

/** Half a second behind the kubelet does no harm; reading a small file in memory takes some µs. */
const DEFAULT_MAX_AGE_MS = 10_000;

export type RotatedFile = {
  /** The text as of at most `maxAgeMs` ago. @throws when the file cannot be read */
  read: () => Promise<string>;
  /** Makes the next `read` go to the disk, e.g. after a server refused what was read. */
  expire: () => void;
};

export const createRotatedFile = (
  path: string,
  options: { maxAgeMs?: number; clock?: Clock } = {},
): RotatedFile => {
  const { maxAgeMs = DEFAULT_MAX_AGE_MS, clock = systemClock } = options;
  let text = '';
  let readAt = -Infinity;
  return {
    read: async () => {
      if (clock.monotonic() - readAt >= maxAgeMs) {
        text = await readFile(path, 'utf8');
        readAt = clock.monotonic();
      }
      return text;
    },
    expire: () => {
      readAt = -Infinity;
    },
  };
};

export type WatchFilesOptions = {
  paths: readonly string[];
  intervalMs?: number;
  /**
   * Called with all contents, in the order of `paths`, each time any has changed; not for the first
   * reading. May throw.
   */
  onChange: (contents: readonly string[]) => void;
  /** A file that cannot be read, or contents that `onChange` threw at; tried after `intervalMs`. */
  onError: (error: unknown) => void;
  signal: AbortSignal;
  clock?: Clock;
};

/**
 * Resolves with the first contents, and looks for changes until the signal aborts.
 * @throws when the first reading fails
 */
export const watchFiles = async (options: WatchFilesOptions): Promise<readonly string[]> => {
  const { paths, intervalMs = DEFAULT_MAX_AGE_MS, onChange, onError, signal } = options;
  const clock = options.clock ?? systemClock;
  const readAll = (): Promise<string[]> => Promise.all(paths.map((path) => readFile(path, 'utf8')));
  const first = await readAll();
  let last = first;
  const look = async (): Promise<void> => {
    try {
      const contents = await readAll();
      if (contents.some((text, index) => text !== last[index])) {
        onChange(contents);
        last = contents;
      }
    } catch (error) {
      onError(error);
    }
    schedule();
  };
  const schedule = (): void => {
    if (signal.aborted) return;
    const cancel = clock.after(intervalMs, () => {
      signal.removeEventListener('abort', cancel);
      void look();
    });
    signal.addEventListener('abort', cancel, { once: true });
  };
  schedule();
  return first;
};
