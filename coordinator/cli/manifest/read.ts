/** Manifests that commands read whole: what cannot be read is said with its place. */
import { EXIT, type CommandIo, type ExitCode } from '../command.ts';
import { fileProblem, isFileError } from '../files.ts';
import { ManifestError, NoDocumentsError } from './documents.ts';
import { locatedObjects, type Located } from './positions.ts';

/** `code`: of the command, which ends with it. */
type Read<T> = { read: T[] } | { code: ExitCode };

/**
 * What `parse` makes of the text of each file. `file`: as people call it. @throws what `parse`
 * throws besides ManifestError
 */
export const readFiles = async <T>(
  files: readonly string[],
  { readText, say }: Pick<CommandIo, 'readText' | 'say'>,
  parse: (text: string, file: string) => T,
): Promise<Read<T>> => {
  const read: T[] = [];
  let code: ExitCode = EXIT.done;
  for (const given of files) {
    const file = given === '-' ? 'standard input' : given;
    try {
      read.push(parse(await readText(given), file));
    } catch (error) {
      if (error instanceof ManifestError) say(`${placeOf(file, error)}: ${error.message}`);
      else if (isFileError(error)) say(`${file}: ${fileProblem(error)}`);
      else throw error;
      const isUsage = error instanceof NoDocumentsError || isFileError(error);
      if (code !== EXIT.usage) code = isUsage ? EXIT.usage : EXIT.no;
    }
  }
  return code === EXIT.done ? { read } : { code };
};

const placeOf = (file: string, { at }: ManifestError): string =>
  at ? `${file}:${at.line}:${at.column}` : file;

export type ManifestSource = { file: string; objects: readonly Located[] };

export const readManifests = (
  files: readonly string[],
  io: CommandIo,
): Promise<Read<ManifestSource>> =>
  readFiles(files, io, (text, file) => ({ file, objects: locatedObjects(text) }));
