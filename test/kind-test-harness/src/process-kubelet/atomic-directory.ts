/**
 * A folder whose files change all at once, laid out as kubelets do: the files are links through
 * `..data`, and one rename of that link switches to the next set. Programs that watch such volumes
 * rely on exactly this.
 */
import { mkdir, readdir, readlink, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

export type FileContent = { data: Buffer; mode: number };
/** By path relative to the folder. */
export type Payload = ReadonlyMap<string, FileContent>;

export const isSamePayload = (a: Payload, b: Payload): boolean =>
  a.size === b.size &&
  [...a].every(([path, { data, mode }]) => {
    const other = b.get(path);
    return other !== undefined && other.mode === mode && other.data.equals(data);
  });

/** `sequence` must differ from call to call for one folder. */
export const writeAtomically = async (
  directory: string,
  payload: Payload,
  sequence: number,
): Promise<void> => {
  await mkdir(directory, { recursive: true });
  const previous = await readlink(join(directory, '..data')).catch(() => undefined);
  const next = `..${sequence}`;
  for (const [path, { data, mode }] of payload) {
    const file = join(directory, next, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, data, { mode });
  }
  await mkdir(join(directory, next), { recursive: true });

  await symlink(next, join(directory, '..data.new'));
  await rename(join(directory, '..data.new'), join(directory, '..data'));
  await linkFiles(directory, payload);
  if (previous !== undefined) await rm(join(directory, previous), { recursive: true });
};

const linkFiles = async (directory: string, payload: Payload): Promise<void> => {
  const wanted = new Set([...payload.keys()].map((path) => path.split('/')[0] ?? path));
  const present = (await readdir(directory)).filter((name) => !name.startsWith('..'));
  for (const name of present) {
    if (!wanted.delete(name)) await rm(join(directory, name));
  }
  for (const name of wanted) await symlink(join('..data', name), join(directory, name));
};
