/** The source files of the product, for tests that look at the code itself. */
import { globSync } from 'node:fs';
import path from 'node:path';

export const ROOT = path.resolve(import.meta.dirname, '../..');

/** Paths from the project's root; tests, and what only tests import, are left out. */
export const productFiles = (): string[] =>
  globSync('{agent,coordinator,shared,deploy}/**/*.ts', { cwd: ROOT }).filter(
    (file) => !/\.test\.ts$|(^|\/)testing(\.ts$|\/)/.test(file),
  );

/** To its second level (`coordinator/rule-status`); a controller is a folder by itself. */
export const folderOf = (file: string): string => {
  const parts = path.dirname(file).split('/');
  return parts.slice(0, parts[1] === 'controllers' ? 3 : 2).join('/');
};
