/**
 * Manifests that people write, with blocks in them that are generated from the registry: the lines
 * between `# begin generated: NAME` and `# end generated`. All else in the file stays as written,
 * comments included.
 */
import { stringify } from 'yaml';
import { own } from '#shared/util/own.ts';

/** By name what stands in a block: items of a list. */
export type Blocks = Readonly<Record<string, readonly object[]>>;

const BLOCK = /^( *)# begin generated: (.+)\n(?:.*\n)*?\1# end generated$/gm;

/** @throws Error for a block that nothing generates, so that no misspelt block stays as it is */
export const withBlocks = (text: string, blocks: Blocks): string =>
  text.replaceAll(BLOCK, (_whole, indent: string, name: string) => {
    const items = blocks[name];
    if (!items) throw new Error(`nothing generates a block ${name}`);
    const lines = [`# begin generated: ${name}`, ...yamlLines(items), '# end generated'];
    return lines.map((line) => `${indent}${line}`).join('\n');
  });

const TABLE = /^<!-- begin generated: (.+) -->\n(?:.*\n)*?<!-- end generated -->$/gm;

/** The same for a page's tables. @throws Error as well for a table without a block in the page */
export const withTables = (page: string, tables: Readonly<Record<string, string>>): string => {
  const missing = new Set(Object.keys(tables));
  const filled = page.replaceAll(TABLE, (_whole, name: string) => {
    const table = own(tables, name);
    if (table === undefined) throw new Error(`nothing generates a block ${name}`);
    missing.delete(name);
    return `<!-- begin generated: ${name} -->\n${table}\n<!-- end generated -->`;
  });
  if (missing.size > 0) throw new Error(`the page has no block ${[...missing].join(', ')}`);
  return filled;
};

/** What people wrote of it. */
export const withoutBlocks = (text: string): string => text.replaceAll(BLOCK, '');

const yamlLines = (items: readonly object[]): string[] =>
  items.length === 0
    ? []
    : stringify(items, { lineWidth: 0, aliasDuplicateObjects: false }).trimEnd().split('\n');
