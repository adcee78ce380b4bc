import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { houseLines, houseOf } from './house.ts';

it('counts what git lists, each line once', () => {
  const root = mkdtempSync(path.join(tmpdir(), 'house-'));
  const files = {
    'package.json': '{"scripts":{"test":"a","demo":"b"}}',
    'agent/main.ts': '1\n2\n3\n',
    'agent/main.test.ts': '1\n',
    'shared/testing.ts': '1\n',
    'shared/testing/world.ts': '1\n',
    'test/stack/start.ts': '1\n',
    'test/run/mutants/one.patch': '1\n',
    'test/run/mutants/mutants.yaml': 'Promise.:\n  - file: a\n',
    'deploy/rbac/role.yaml': '1\n2\n',
    'docs/deep/page.md': 'four words\nin  all\n',
  };
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
    writeFileSync(path.join(root, file), text);
  }
  execFileSync('sh', ['-c', 'git init --quiet && git add .'], { cwd: root });
  writeFileSync(path.join(root, 'unknown.test.ts'), '1\n');
  expect(houseOf(root)).toEqual({
    'lines of product': 3,
    'lines of tests': 4,
    'lines of YAML in deploy/': 2,
    'mutants by hand': 2,
    'folders of test/': 2,
    'npm scripts': 2,
    'words of docs/': 4,
  });
  rmSync(root, { recursive: true });
});

it('says what there was, what there is, and the difference', () => {
  expect(houseLines({ words: 1_500, more: 3 }, { words: 2_000, more: 1 }).slice(1)).toEqual([
    'words                          2,000     1,500      -500',
    'more                               1         3        +2',
  ]);
});
