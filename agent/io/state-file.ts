/**
 * A JSON file in the agent's emptyDir that survives restarts of the container. Replaced whole: after a crash at any point
 * it holds either the old or the new value.
 */
import { open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import type * as z from 'zod';
import type { Logger } from '#shared/runtime/log.ts';

export type StateFile<T> = {
  /** The value of the last `write`, or of the file as it was found. */
  value: () => T;
  /** Resolves when the value is on disk. Calls must not overlap. */
  write: (value: T) => Promise<void>;
};

export type StateFileOptions<T> = {
  path: string;
  schema: z.ZodType<T>;
  /** For a file that does not exist, or that an incompatible version has written. */
  initial: T;
  log: Logger;
};

const OWNER_ONLY = 0o600;

/** @throws when the file exists and cannot be read */
export const openStateFile = async <T extends object>(
  options: StateFileOptions<T>,
): Promise<StateFile<T>> => {
  const { path } = options;
  let current: T = await load(options);
  return {
    value: () => current,
    write: async (value) => {
      const temporary = `${path}.new`;
      const file = await open(temporary, 'w', OWNER_ONLY);
      try {
        await file.writeFile(JSON.stringify(value));
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(temporary, path);
      await syncFolder(dirname(path));
      current = value;
    },
  };
};

const load = async <T extends object>({
  path,
  schema,
  initial,
  log,
}: StateFileOptions<T>): Promise<T> => {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return initial;
    throw error;
  }
  const parsed = schema.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  log.error({ path }, 'the state file is damaged or of another version, starting without it');
  return initial;
};

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

const syncFolder = async (path: string): Promise<void> => {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
};
