/** A file with a value of the pod; the kubelet rewrites it on changes, and the agent follows it. */
import type { Clock } from '#shared/runtime/clock.ts';
import { messageOf } from '#shared/runtime/errors.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { watchFiles } from '#shared/http/rotated-file.ts';

export type PodFileDeps = {
  /** Downward API file; absent: the pod has no such value. */
  file: string | undefined;
  onChange: () => void;
  signal: AbortSignal;
  clock: Clock;
  log: Logger;
};

type Content<T> = {
  absent: T;
  /** May throw; then all stays as it is. */
  parse: (text: string) => T;
  intervalMs: number;
  onChanged: (value: T) => void;
};

/** The value as it is now. What cannot be read changes nothing. @throws without such a file */
export const followPodFile = async <T>(
  { file, onChange, signal, clock, log }: PodFileDeps,
  { absent, parse, intervalMs, onChanged }: Content<T>,
): Promise<() => T> => {
  let value = absent;
  if (file === undefined) return () => value;

  const take = ([text = '']: readonly string[]): void => {
    try {
      value = parse(text);
    } catch (error) {
      log.error(
        { file, reason: messageOf(error) },
        'failed to read a file of the downward API, keeping what was last read',
      );
    }
  };
  const first = await watchFiles({
    paths: [file],
    intervalMs,
    clock,
    signal,
    onError: (error) =>
      log.error(
        { err: error, file },
        'failed to read a file of the downward API, keeping what was last read',
      ),
    onChange: (contents) => {
      take(contents);
      onChanged(value);
      onChange();
    },
  });
  take(first);
  return () => value;
};
