/** In the coordinator a name that files export means one thing: who reads an import need not look where it is from. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { productFiles, ROOT } from './product-files.ts';

const EXPORT = /^export (?:const|class|type|function) (\w+)/gm;

it('no two files of the coordinator export the same name', () => {
  const filesOf = new Map<string, string[]>();
  const files = productFiles().filter((file) => file.startsWith('coordinator/'));
  for (const file of files) {
    const text = readFileSync(path.join(ROOT, file), 'utf8');
    const names = new Set([...text.matchAll(EXPORT)].map(([, name = '']) => name));
    for (const name of names) filesOf.set(name, [...(filesOf.get(name) ?? []), file]);
  }
  expect(filesOf.size).toBeGreaterThan(200);
  expect([...filesOf].filter(([, exporting]) => exporting.length > 1)).toEqual([]);
});
