/** The pages of the documentation. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from '../../../run/product-files.ts';
import { blocksIn } from './blocks.ts';

export const pages: readonly string[] = [
  'README.md',
  ...['docs', 'docs/decisions'].flatMap((folder) =>
    readdirSync(path.join(ROOT, folder))
      .filter((file) => file.endsWith('.md'))
      .map((file) => `${folder}/${file}`),
  ),
];
export const textOf = (page: string): string => readFileSync(path.join(ROOT, page), 'utf8');
/** Blocks with commands, by page. */
export const blocks = new Map(pages.map((page) => [page, blocksIn(page, textOf(page))]));
