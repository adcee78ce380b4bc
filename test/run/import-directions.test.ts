/**
 * No folder of the product imports from one that uses it, whatever the way round: data flows one
 * way. Files of a program's own folder assemble it, and nothing below imports them.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { folderOf, productFiles, ROOT } from './product-files.ts';

const IMPORT = /\bfrom '([^']+)'|\bimport\('([^']+)'\)/g;

/** What a file of the project imports, from the project's root. */
const importsOf = (file: string): string[] =>
  [...readFileSync(path.join(ROOT, file), 'utf8').matchAll(IMPORT)].flatMap(([, one, other]) => {
    const specifier = one ?? other ?? '';
    if (specifier.startsWith('#shared/')) return [specifier.slice(1)];
    return specifier.startsWith('.') ? [path.join(path.dirname(file), specifier)] : [];
  });

const folders = (): ReadonlyMap<string, ReadonlySet<string>> => {
  const uses = new Map<string, Set<string>>();
  for (const file of productFiles()) {
    const used = uses.get(folderOf(file)) ?? new Set();
    importsOf(file).forEach((imported) => used.add(folderOf(imported)));
    used.delete(folderOf(file));
    uses.set(folderOf(file), used);
  }
  return uses;
};

const wayBack = (
  uses: ReadonlyMap<string, ReadonlySet<string>>,
  from: string,
): string[] | undefined => {
  const ways = [[from]];
  const seen = new Set<string>();
  for (const way of ways)
    for (const next of uses.get(way.at(-1) ?? '') ?? []) {
      if (next === from) return [...way, next];
      if (seen.has(next)) continue;
      seen.add(next);
      ways.push([...way, next]);
    }
  return undefined;
};

it('finds no file that imports from one that uses it, types included', () => {
  const uses = new Map(productFiles().map((file) => [file, new Set(importsOf(file))]));
  const circles = [...uses.keys()].flatMap((file) => wayBack(uses, file)?.join(' → ') ?? []);
  expect(circles).toEqual([]);
});

it('finds no folder that imports from one that uses it', () => {
  const uses = folders();
  expect(uses.size).toBeGreaterThan(20);
  const circles = [...uses.keys()].flatMap((folder) => wayBack(uses, folder)?.join(' → ') ?? []);
  expect(circles).toEqual([]);
});
