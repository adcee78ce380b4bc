/** Which commit a run was of, and when; for tables in the docs. */
import { execFileSync } from 'node:child_process';
import path from 'node:path';

export const ROOT = path.join(import.meta.dirname, '../..');

export type Run = { commit: string; date: string };

export const runOf = (): Run => {
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim();
  const commit = git('rev-parse', '--short', 'HEAD');
  const isChanged = git('status', '--porcelain', '--', ':!docs') !== '';
  return {
    commit: isChanged ? `${commit} and changes` : commit,
    date: new Date().toISOString().slice(0, 10),
  };
};

/**
 * Puts a text between `<!-- begin NAME -->` and `<!-- end NAME -->`. `change` gets what is there.
 * @throws Error where the marks are missing
 */
export const between = (page: string, name: string, change: (there: string) => string): string => {
  const [begin, end] = [`<!-- begin ${name} -->\n`, `<!-- end ${name} -->`];
  const [before, rest] = page.split(begin);
  const [there, after] = rest?.split(end) ?? [];
  if (before === undefined || there === undefined || after === undefined)
    throw new Error(`the page has no ${begin.trim()} and ${end}`);
  return `${before}${begin}${change(there)}${end}${after}`;
};
