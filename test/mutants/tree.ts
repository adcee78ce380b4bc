/** Copies of the checkout as it is now, uncommitted changes included, for bugs to be put into. The checkout itself is never changed. */
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

export type Tree = {
  root: string;
  /** False: the patch does not apply, and nothing is changed. */
  apply: (patch: string) => boolean;
  /**
   * Gives the files of the last patch that was applied their text from before. Not the patch in reverse: without the lines of the bug,
   * its place may not be the only one that fits.
   */
  revert: () => void;
} & Disposable;

export const copyTree = (checkout: string): Tree => {
  const root = mkdtempSync(path.join(tmpdir(), 'sdewan-mutants-'));
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
  const git = (patch: string): void => {
    // In a repository git would look for the files from its top.
    const env = { ...process.env, GIT_CEILING_DIRECTORIES: path.dirname(root) };
    execFileSync('git', ['apply', '--whitespace=nowarn', '-'], {
      cwd: root,
      env,
      input: patch,
      stdio: ['pipe', 'ignore', 'pipe'],
    });
  };
  let before: readonly (readonly [file: string, bytes: Buffer | undefined])[] = [];
  return {
    root,
    apply: (patch) => {
      const files = [...patch.matchAll(/^diff --git a\/(\S+) /gm)].map(([, file = '']) => file);
      before = files.map((file) => [file, bytesOf(path.join(root, file))]);
      try {
        git(patch);
        return true;
      } catch {
        return false;
      }
    },
    revert: () => {
      for (const [file, bytes] of before)
        if (bytes === undefined) rmSync(path.join(root, file), { force: true });
        else writeFileSync(path.join(root, file), bytes);
    },
    [Symbol.dispose]: remove,
  };
};

const bytesOf = (file: string): Buffer | undefined =>
  existsSync(file) ? readFileSync(file) : undefined;

/** Those that git knows and new ones, not what it ignores. */
const filesOf = (checkout: string): string[] =>
  execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: checkout,
    encoding: 'utf8',
    maxBuffer: 64_000_000,
  })
    .split('\0')
    .filter((file) => file !== '');

/** Packages are shared; workspaces are links into the tree, and must lead into the copy. What tools keep there is not shared. */
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
