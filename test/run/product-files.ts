/** The source files of the product, for tests that look at the code itself. */
import { globSync } from 'node:fs';
import path from 'node:path';

export const ROOT = path.resolve(import.meta.dirname, '../..');

/** Paths from the project's root; tests, and what only tests import, are left out. */
export const productFiles = (): string[] =>
  globSync('{agent,coordinator,shared,deploy}/**/*.ts', { cwd: ROOT }).filter(
    (file) => !/\.test\.ts$|(^|\/)testing(\.ts$|\/)/.test(file),
  );
