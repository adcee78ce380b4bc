/**
 * Copies of the checkout as it is now, uncommitted changes included, to change things in. The
 * checkout itself is never changed.
 */
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

export type Tree = { root: string } & Disposable;

export const copyTree = (checkout: string): Tree => {
  const root = mkdtempSync(path.join(tmpdir(), 'sdewan-tree-'));
  const remove = (): void => rmSync(root, { recursive: true, force: true });
  try {
    for (const file of filesOf(checkout)) {
      const source = path.join(checkout, file);
      if (lstatSync(source, { throwIfNoEntry: false })) cpSync(source, path.join(root, file));
    }
    linkModules(path.join(checkout, 'node_modules'), path.join(root, 'node_modules'));
  } catch (error) {
    remove();
    throw error;
  }
  return { root, [Symbol.dispose]: remove };
};

/** Those that git knows and new ones, not what it ignores. */
const filesOf = (checkout: string): string[] =>
  execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: checkout,
    encoding: 'utf8',
    maxBuffer: 64_000_000,
  })
    .split('\0')
    .filter((file) => file !== '');

/**
 * Packages are shared; workspaces are links into the tree, and must lead into the copy. What tools
 * keep there is not shared.
 */
const linkModules = (from: string, to: string): void => {
  mkdirSync(to);
  for (const name of readdirSync(from)) {
    const source = path.join(from, name);
    const target = path.join(to, name);
    if (name === '.bin') linkModules(source, target);
    else if (lstatSync(source).isSymbolicLink()) symlinkSync(readlinkSync(source), target);
    else if (!name.startsWith('.') || lstatSync(source).isFile()) symlinkSync(source, target);
  }
};
