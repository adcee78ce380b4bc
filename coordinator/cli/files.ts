/** Files that a person has named, and that cannot be read: in words instead of the system's. */
import { messageOf } from '#shared/runtime/errors.ts';
import { own } from '#shared/util/own.ts';

/** From the file system. */
export const isFileError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && 'syscall' in error;

/** Behind the name of the file. */
export const fileProblem = (error: NodeJS.ErrnoException): string =>
  own(WORDS, error.code ?? '') ?? messageOf(error);

const WORDS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EACCES: 'you may not read this file',
  EISDIR: 'this is a folder; name the files in it',
};
