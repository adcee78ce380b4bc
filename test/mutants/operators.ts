/** What Stryker makes of a folder: score and survivors, less those that change nothing. Pure. */
import type { MutantResult } from '@stryker-mutator/api/core';

/** Mutants of one line that no test can notice, since the program does the same with them. */
export type Equivalent = {
  file: string;
  /** The line of code, or its beginning. */
  line: string;
  /** What Stryker puts into it, each as it prints it. */
  becomes: readonly string[];
  why: string;
};

export type Score = { killed: number; total: number; survivors: string[]; stale: string[] };

type Found = { file: string; line: number; code: string; becomes: string };

/** `sourceOf`: by the path that `fileName` has from the repository's folder. */
export const scoreOf = (
  results: readonly MutantResult[],
  equivalents: readonly Equivalent[],
  sourceOf: (file: string) => string,
): Score => {
  const judged = results.filter(({ status }) => JUDGED.has(status));
  const alive = judged
    .filter(({ status }) => status === 'Survived' || status === 'NoCoverage')
    .map((mutant) => foundIn(mutant, sourceOf));
  const survivors = alive.filter((found) => !equivalents.some((entry) => isSame(entry, found)));
  const unused = equivalents.flatMap((entry) =>
    entry.becomes
      .filter((becomes) => !alive.some((found) => isSame({ ...entry, becomes: [becomes] }, found)))
      .map((becomes) => `${entry.file}: ${entry.line}: ${becomes}`),
  );
  const total = judged.length - (alive.length - survivors.length);
  return {
    killed: total - survivors.length,
    total,
    survivors: survivors.map(
      ({ file, line, code, becomes }) => `${file}:${line}: ${code}\n    ${becomes}`,
    ),
    stale: unused,
  };
};

/** The others could not be run. */
const JUDGED = new Set<string>(['Killed', 'Timeout', 'Survived', 'NoCoverage']);

const foundIn = (
  { fileName, location: { start, end }, replacement }: MutantResult,
  sourceOf: (file: string) => string,
): Found => {
  const lines = sourceOf(fileName)
    .split('\n')
    .slice(start.line - 1, end.line);
  const last = lines.at(-1) ?? '';
  const upToEnd = [...lines.slice(0, -1), last.slice(0, end.column - 1)].join('\n');
  return {
    file: fileName,
    line: start.line,
    code: lines[0]?.trim() ?? '',
    becomes: `${oneLine(upToEnd.slice(start.column - 1))} → ${oneLine(replacement)}`,
  };
};

const isSame = ({ file, line, becomes }: Equivalent, found: Found): boolean =>
  found.file === file && found.code.startsWith(line) && becomes.includes(found.becomes);

const MAX_SHOWN = 120;

const oneLine = (code: string): string => code.replaceAll(/\s+/g, ' ').slice(0, MAX_SHOWN);

export const percentOf = ({ killed, total }: Score): number =>
  total === 0 ? 100 : (100 * killed) / total;
