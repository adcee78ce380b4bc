/** What Node makes of the product's files, which it runs without a build step. */
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import path from 'node:path';
import { expect, it } from 'vitest';
import { productFiles, ROOT } from './product-files.ts';

/** TypeScript and the bundler read more than that (findings/type-stripping.sh). */
it('can remove the types of each file', () => {
  const refused = productFiles().flatMap((file) => {
    try {
      stripTypeScriptTypes(readFileSync(path.join(ROOT, file), 'utf8'));
      return [];
    } catch (error) {
      return [`${file}: ${String(error)}`];
    }
  });
  expect(refused).toEqual([]);
});
