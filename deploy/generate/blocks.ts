/**
 * Manifests that people write, with blocks in them that are generated from the registry: the lines between `# begin generated: NAME` and
 * `# end generated`. All else in the file stays as written, comments included.
 */
import { stringify } from 'yaml';

/** By name what stands in a block: items of a list. */
export type Blocks = Readonly<Record<string, readonly object[]>>;

const BLOCK = /^( *)# begin generated: (.+)\n(?:.*\n)*?\1# end generated$/gm;

/** @throws Error for a block that nothing generates, so that a name misspelt is no block that stays as it is */
export const withBlocks = (text: string, blocks: Blocks): string =>
  text.replaceAll(BLOCK, (_whole, indent: string, name: string) => {
    const items = blocks[name];
    if (!items) throw new Error(`nothing generates a block ${name}`);
    const lines = [`# begin generated: ${name}`, ...yamlLines(items), '# end generated'];
    return lines.map((line) => `${indent}${line}`).join('\n');
  });

/** What people wrote of it. */
export const withoutBlocks = (text: string): string => text.replaceAll(BLOCK, '');

const yamlLines = (items: readonly object[]): string[] =>
  items.length === 0
    ? []
    : stringify(items, { lineWidth: 0, aliasDuplicateObjects: false }).trimEnd().split('\n');
