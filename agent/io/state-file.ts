/**
 * A JSON file in the agent's emptyDir that survives restarts of the container. Replaced whole:
 * after a crash at any point it holds either the old or the new value. Each says its version, of
 * which there is one yet; what a newer agent has written is refused here.
 */
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
};

export type StateFileOptions<T> = {
  path: string;
  schema: z.ZodType<T>;
  /** For a file that does not exist, or whose contents are not usable: broken, or newer. */
  initial: T;
  log: Logger;
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
  return {
    isLost: found === 'unusable',
    value: () => current,
    write: async (value) => {
      try {
        await replaceWhole(path, JSON.stringify(value));
      } catch (error) {
        throw new StateFileError(path, error);
      }
      current = value;
    },
  };
};

const replaceWhole = async (path: string, text: string): Promise<void> => {
  const temporary = `${path}.new`;
  const file = await open(temporary, 'w', OWNER_ONLY);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
  await syncFolder(dirname(path));
};

const load = async <T extends object>(options: StateFileOptions<T>): Promise<T | 'unusable'> => {
  const { path, schema, initial, log } = options;
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return initial;
    throw new StateFileError(path, error, 'read');
  }
  const contents = jsonIn(text);
  const { version } = versionedSchema.safeParse(contents).data ?? {};
  if (version !== undefined && version > VERSION) {
    log.error({ path, version }, 'a newer agent wrote this state file: starting without it');
    return 'unusable';
  }
  const parsed = schema.safeParse(contents);
  if (parsed.success) return parsed.data;
  log.error({ path }, 'this state file is broken: starting without it');
  return 'unusable';
};

const syncFolder = async (path: string): Promise<void> => {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
};
