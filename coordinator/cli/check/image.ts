/** The files of a root file system: of a folder, or of a tar in a file or on standard input. */
import { createReadStream } from 'node:fs';
import { lstat, open, readdir, readFile } from 'node:fs/promises';
import { join, posix, relative } from 'node:path';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { extract } from 'tar-stream';
import { CannotTellError } from '../command.ts';
import { fileProblem, isFileError } from '../files.ts';
import { READ_FILES, type ImageFiles } from './image-items.ts';

/** A configuration file has at most so many bytes; an image comes from anywhere. */
const MAX_TEXT = 1_048_576;
/** In an official root file system there are some 2,000. */
const MAX_PATHS = 1_000_000;

/** `where`: a folder, a file, or `-`. @throws CannotTellError */
export const readImage = async (where: string, signal: AbortSignal): Promise<ImageFiles> => {
  try {
    return where !== '-' && (await lstat(where)).isDirectory()
      ? await ofFolder(where)
      : await ofTar(where, signal);
  } catch (error) {
    if (error instanceof CannotTellError || signal.aborted) throw error;
    const words = isFileError(error)
      ? fileProblem(error)
      : `no tar of a root file system: ${String(error)}`;
    throw new CannotTellError(`--image ${where}: ${words}`, { cause: error });
  }
};

const FOLDERS = ['etc', 'sbin', 'bin', 'lib', 'usr'] as const;

const ofFolder = async (root: string): Promise<ImageFiles> => {
  const paths = new Set<string>();
  for (const folder of FOLDERS) {
    // Links stay links: they mean other files here than they do there.
    const all = { recursive: true, withFileTypes: true } as const;
    const entries = (await readdir(join(root, folder), all).catch(orAbsent)) ?? [];
    for (const { parentPath, name } of entries)
      paths.add(posix.join('/', relative(root, parentPath), name));
  }
  const texts = new Map<string, string>();
  for (const path of READ_FILES) {
    const stat = await lstat(join(root, path)).catch(orAbsent);
    if (stat?.isFile() && stat.size <= MAX_TEXT)
      texts.set(path, await readFile(join(root, path), 'utf8'));
  }
  return { paths, texts };
};

const orAbsent = (error: unknown): undefined => {
  if (isFileError(error) && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return undefined;
  throw error;
};

const ofTar = async (where: string, signal: AbortSignal): Promise<ImageFiles> => {
  const paths = new Set<string>();
  const texts = new Map<string, string>();
  const entries = extract();
  const source = where === '-' ? process.stdin : createReadStream(where);
  const unpacked = (await isGzip(where))
    ? pipeline(source, createGunzip(), entries, { signal })
    : pipeline(source, entries, { signal });
  const read = async (): Promise<void> => {
    for await (const entry of entries) {
      const path = posix.join('/', entry.header.name).replace(/(?<=.)\/$/, '');
      if (paths.size < MAX_PATHS) paths.add(path);
      if (READ_FILES.includes(path) && (entry.header.size ?? 0) <= MAX_TEXT)
        texts.set(path, await text(entry));
      else entry.resume();
    }
  };
  await Promise.all([unpacked, read()]);
  if (paths.size === 0) throw new CannotTellError(`--image ${where}: it is empty`);
  return { paths, texts };
};

const GZIP = Buffer.of(0x1f, 0x8b);

/** Standard input is read once, and so is as it comes. */
const isGzip = async (where: string): Promise<boolean> => {
  if (where === '-') return false;
  const file = await open(where);
  try {
    const { buffer } = await file.read(Buffer.alloc(GZIP.length), 0, GZIP.length, 0);
    return buffer.equals(GZIP);
  } finally {
    await file.close();
  }
};
