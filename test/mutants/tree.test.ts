import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { prove } from './prove.ts';
import { copyTree } from './tree.ts';

const made: string[] = [];
afterEach(async () => {
  for (const folder of made.splice(0)) await rm(folder, { recursive: true });
});

/** A repository with a package, a workspace, a file that is committed, one that is new and one that is ignored. */
const checkoutWith = (scripts: Record<string, string> = {}): string => {
  const root = mkdtempSync(path.join(tmpdir(), 'sdewan-mutants-test-'));
  made.push(root);
  for (const folder of ['node_modules/library', 'node_modules/.cache', 'tools'])
    mkdirSync(path.join(root, folder), { recursive: true });
  const files = {
    '.gitignore': 'node_modules/\n*.log\n',
    'package.json': JSON.stringify({ scripts }),
    'a.ts': 'one\n',
    'tools/tool.ts': 'tool\n',
    'node_modules/library/index.js': 'library\n',
    'run.log': '',
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(root, name), text);
  symlinkSync('../tools', path.join(root, 'node_modules/tools'));
  execFileSync('git', ['init', '--quiet'], { cwd: root });
  execFileSync('git', ['add', '.'], { cwd: root });
  writeFileSync(path.join(root, 'new.ts'), 'new\n');
  return root;
};

const patchOf = (file: string, from: string, to: string): string =>
  `diff --git a/${file} b/${file}\n--- a/${file}\n+++ b/${file}\n@@ -1 +1 @@\n-${from}\n+${to}\n`;

describe('a tree', () => {
  it('is the checkout as it is now, with its packages, and goes away', () => {
    const checkout = checkoutWith();
    let root = '';
    {
      using tree = copyTree(checkout);
      ({ root } = tree);
      const read = (name: string): string => readFileSync(path.join(root, name), 'utf8');
      expect(read('new.ts')).toBe('new\n');
      expect(read('node_modules/library/index.js')).toBe('library\n');
      expect(existsSync(path.join(root, 'run.log'))).toBe(false);
      expect(existsSync(path.join(root, 'node_modules/.cache'))).toBe(false);
    }
    expect(existsSync(root)).toBe(false);
  });

  it('takes a bug, workspaces included, and is clean afterwards; the checkout has no part in it', () => {
    const checkout = checkoutWith();
    using tree = copyTree(checkout);
    const patch = patchOf('tools/tool.ts', 'tool', 'bug');
    const workspace = path.join(tree.root, 'node_modules/tools/tool.ts');
    expect(tree.apply(patch)).toBe(true);
    expect(readFileSync(workspace, 'utf8')).toBe('bug\n');
    expect(readFileSync(path.join(checkout, 'tools/tool.ts'), 'utf8')).toBe('tool\n');
    tree.revert();
    expect(readFileSync(workspace, 'utf8')).toBe('tool\n');
  });

  it('is clean after a bug whose place looks like another', () => {
    const checkout = checkoutWith();
    const text = 'undo\n}\n\nundo\ncheck\n}\n';
    writeFileSync(path.join(checkout, 'a.ts'), text);
    using tree = copyTree(checkout);
    const patch =
      'diff --git a/a.ts b/a.ts\n--- a/a.ts\n+++ b/a.ts\n@@ -2,3 +2,2 @@\n undo\n-check\n }\n';
    expect(tree.apply(patch)).toBe(true);
    expect(readFileSync(path.join(tree.root, 'a.ts'), 'utf8')).not.toContain('check');
    tree.revert();
    expect(readFileSync(path.join(tree.root, 'a.ts'), 'utf8')).toBe(text);
  });

  it('says that a patch does not apply', () => {
    using tree = copyTree(checkoutWith());
    expect(tree.apply(patchOf('a.ts', 'two', 'bug'))).toBe(false);
    expect(readFileSync(path.join(tree.root, 'a.ts'), 'utf8')).toBe('one\n');
  });
});

describe('a proof by a script', () => {
  const run = (script: string, timeoutMs = 60_000, signal = new AbortController().signal) =>
    prove({ script: ['it'] }, { root: checkoutWith({ it: script }), timeoutMs, signal });

  it('is green or red by its exit code', async () => {
    expect(await run('true')).toEqual({ state: 'green', files: [] });
    expect(await run('echo a promise is broken; exit 3')).toEqual({
      state: 'red',
      by: ['a promise is broken'],
    });
  });

  it('is red where it does not end', async () => {
    expect(await run('sleep 1000', 500)).toEqual({ state: 'red', by: ['no end within 0.5 s'] });
  });

  it('is no proof where it was stopped', async () => {
    await expect(run('sleep 1000', 60_000, AbortSignal.timeout(300))).rejects.toThrow('timeout');
  });
});
