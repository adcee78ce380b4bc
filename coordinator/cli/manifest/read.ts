/** Manifests that commands read whole: what cannot be read is said with its place. */
import { EXIT, type CommandIo, type ExitCode } from '../command.ts';
import { fileProblem, isFileError } from '../files.ts';
import { ManifestError, NoDocumentsError } from './documents.ts';
import { locatedObjects, type Located } from './positions.ts';

export const STANDARD_INPUT = 'standard input';
export const nameOfFile = (file: string): string => (file === '-' ? STANDARD_INPUT : file);

/** `file:line:column: what is wrong`. */
export const manifestProblem = (file: string, { at, message }: ManifestError): string =>
  `${at ? `${nameOfFile(file)}:${at.line}:${at.column}` : nameOfFile(file)}: ${message}`;

export type ManifestSource = { file: string; objects: readonly Located[] };

type Read = { sources: ManifestSource[] } | { code: ExitCode };

/** `code`: of the command, which ends with it. */
export const readManifests = async (
  files: readonly string[],
  { readText, say }: CommandIo,
): Promise<Read> => {
  const sources: ManifestSource[] = [];
  let code: ExitCode = EXIT.done;
  for (const file of files)
    try {
      sources.push({ file: nameOfFile(file), objects: locatedObjects(await readText(file)) });
    } catch (error) {
      if (error instanceof ManifestError) say(manifestProblem(file, error));
      else if (isFileError(error)) say(`${nameOfFile(file)}: ${fileProblem(error)}`);
      else throw error;
      const isUsage = error instanceof NoDocumentsError || isFileError(error);
      if (code !== EXIT.usage) code = isUsage ? EXIT.usage : EXIT.no;
    }
  return code === EXIT.done ? { sources } : { code };
};
