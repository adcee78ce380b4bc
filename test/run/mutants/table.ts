/**
 * The table of invariants in docs/architecture.md, and the mutants that are made by hand for its
 * rows.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import * as z from 'zod';
import { ROOT } from '../product-files.ts';
import { STRYKER } from './stryker-folders.ts';

const mutantSchema = z.strictObject({
  file: z.string(),
  /** A whole line, without its indentation. */
  find: z.string(),
  replace: z.string(),
  caughtBy: z.string(),
});
export type Mutant = z.infer<typeof mutantSchema> & { invariant: string };

export const readMutants = (): Mutant[] => {
  const text = readFileSync(path.join(import.meta.dirname, 'mutants.yaml'), 'utf8');
  const table = z.record(z.string(), z.array(mutantSchema)).parse(parse(text));
  return Object.entries(table).flatMap(([invariant, some]) =>
    some.map((mutant) => ({ ...mutant, invariant })),
  );
};

/** @throws Error where the line is not there exactly once */
export const mutated = (text: string, { file, find, replace }: Mutant): string => {
  const lines = text.split('\n');
  const places = lines.flatMap((line, at) => (line.trim() === find ? [at] : []));
  const [at] = places;
  if (at === undefined || places.length > 1)
    throw new Error(`${file} has ${places.length} lines "${find}"`);
  return lines.with(at, replace).join('\n');
};

export type Invariant = { text: string; keptIn: readonly string[]; shownBy: readonly string[] };

export const readInvariants = (): Invariant[] => {
  const page = readFileSync(path.join(ROOT, 'docs/architecture.md'), 'utf8');
  const [, section = ''] = page.split('\n## Invariants\n');
  const [table = ''] = section.split('\n## ');
  const pathsIn = (cell: string): string[] =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, found = '']) => found);
  return table
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(1)
    .map((line) => {
      const [, text = '', keptIn = '', shownBy = ''] = line.split('|').map((cell) => cell.trim());
      return { text, keptIn: pathsIn(keptIn), shownBy: pathsIn(shownBy) };
    });
};

/** Stryker changes all files that keep it, and looks at a test that shows it. */
export const isStrykers = ({ keptIn, shownBy }: Invariant): boolean => {
  const isIn = (file: string): boolean => Object.hasOwn(STRYKER, path.dirname(file));
  return keptIn.every(isIn) && shownBy.some(isIn);
};
