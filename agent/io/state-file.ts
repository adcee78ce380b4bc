/**
 * A JSON file in the agent's emptyDir that survives restarts of the container. Replaced whole, or a
 * line is added: after a crash at any point it holds either the old or the new value. Each says its
 * version, of which there is one yet; what a newer agent has written is refused here.
 */
import { constants } from 'node:fs';
import { open, readFile, rename } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import * as z from 'zod';
import { messageOf } from '#shared/runtime/errors.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { jsonIn } from '#shared/util/json.ts';

export type StateFile<T> = {
  /** What the file held could not be used, so `value` began as `initial`. */
  readonly isLost: boolean;
  /** The value of the last `write`, or of the file as it was found. */
  value: () => T;
  /** Resolves when the value is on disk. Calls must not overlap. @throws StateFileError */
  write: (value: T) => Promise<void>;
  /**
   * The same where only `change` is new, for `merge`: it becomes a line of its own while all such
   * lines together are shorter than `whole`. `value` stays.
   */
  amend: (change: T, whole: () => T) => Promise<void>;
};

export type StateFileOptions<T> = {
  path: string;
  schema: z.ZodType<T>;
  /** For a file that does not exist, or whose contents are not usable: broken, or newer. */
  initial: T;
  log: Logger;
  /** Puts a change into a value. Needed for `amend`. */
  merge?: (value: T, change: T) => void;
};

/**
 * The folder is full, read-only or gone: nothing is written to OpenWRT meanwhile, since it would
 * not be known what is ours.
 */
export class StateFileError extends Error {
  override name = 'StateFileError';
  constructor(path: string, cause: unknown, attempted: 'read' | 'write' = 'write') {
    const file = `${basename(path)} in its state folder ${dirname(path)}`;
    super(`the agent cannot ${attempted} ${file}: ${messageOf(cause)}`, { cause });
  }
}

const OWNER_ONLY = 0o600;
/** That of each file of this agent. */
const VERSION = 1;
const versionedSchema = z.looseObject({ version: z.int().min(1) });

/** @throws StateFileError when the file exists and cannot be read */
export const openStateFile = async <T extends object>(
  options: StateFileOptions<T>,
): Promise<StateFile<T>> => {
  const { path, initial } = options;
  const found = await load(options);
  let current: T = found === 'unusable' ? initial : found;
  /** Bytes of the file as it was written whole, and of lines since. */
  let [whole, added] = [0, 0];
  const attempt = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      // A line that was begun is followed by no other.
      whole = 0;
      throw new StateFileError(path, error);
    }
  };
  const write = (value: T): Promise<void> =>
    attempt(async () => {
      const text = JSON.stringify(value);
      await replaceWhole(path, text);
      [whole, added] = [text.length, 0];
      current = value;
    });
  return {
    isLost: found === 'unusable',
    value: () => current,
    write,
    amend: async (change, valueNow) => {
      const line = `\n${JSON.stringify(change)}`;
      added += line.length;
      if (added > whole) await write(valueNow());
      else await attempt(() => put(path, constants.O_WRONLY | constants.O_APPEND, line));
    },
  };
};

const put = async (path: string, flags: number | string, text: string): Promise<void> => {
  const file = await open(path, flags, OWNER_ONLY);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
};

const replaceWhole = async (path: string, text: string): Promise<void> => {
  const temporary = `${path}.new`;
  await put(temporary, 'w', text);
  await rename(temporary, path);
  await syncFolder(dirname(path));
};

const load = async <T extends object>(options: StateFileOptions<T>): Promise<T | 'unusable'> => {
  const { path, schema, initial, log, merge } = options;
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return initial;
    throw new StateFileError(path, error, 'read');
  }
  const [contents, ...lines] = (merge ? text.split('\n') : [text]).map(jsonIn);
  const { version } = versionedSchema.safeParse(contents).data ?? {};
  if (version !== undefined && version > VERSION) {
    log.error({ path, version }, 'a newer agent wrote this state file: starting without it');
    return 'unusable';
  }
  const parsed = schema.safeParse(contents);
  if (parsed.success) {
    for (const change of changesIn(lines, schema)) merge?.(parsed.data, change);
    return parsed.data;
  }
  log.error({ path }, 'this state file is broken: starting without it');
  return 'unusable';
};

/** Without one that was cut short: it was never taken for written. */
const changesIn = <T>(lines: readonly unknown[], schema: z.ZodType<T>): readonly T[] =>
  lines.flatMap((line) => schema.safeParse(line).data ?? []);

const syncFolder = async (path: string): Promise<void> => {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
};
