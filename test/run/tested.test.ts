import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { harnessDigest, recordDigest, recordedDigest } from './tested.ts';

const HARNESS = 'test/kind-test-harness/src/start.ts';
const TESTS = 'test/integration/harness/cli.test.ts';
const PRODUCT = 'agent/main.ts';

let root: string;
const write = (file: string, content: string): void => {
  mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
  writeFileSync(path.join(root, file), content);
};

beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'tested-'));
  execFileSync('git', ['init', '--quiet'], { cwd: root });
  write('.gitignore', 'ignored/\n');
  for (const file of [HARNESS, TESTS, PRODUCT]) write(file, 'as it was');
  execFileSync('git', ['add', '.'], { cwd: root });
});
afterEach(() => rmSync(root, { recursive: true }));

describe('the state of the harness', () => {
  it.each([
    ['a changed file of the harness', () => write(HARNESS, 'changed')],
    ['a changed test of it', () => write(TESTS, 'changed')],
    ['a file that git does not know yet', () => write(`${HARNESS}.new.ts`, '')],
    ['a file that is gone', () => rmSync(path.join(root, TESTS))],
    [
      'a file under another name',
      () => {
        rmSync(path.join(root, TESTS));
        write(`${TESTS}x`, 'as it was');
      },
    ],
  ])('is another with %s', (_, change) => {
    const before = harnessDigest(root);
    change();
    expect(harnessDigest(root)).not.toBe(before);
  });

  it('is the same whatever else changes', () => {
    const before = harnessDigest(root);
    write(PRODUCT, 'changed');
    write('test/kind-test-harness/README.md', 'changed');
    write('test/kind-test-harness/ignored/file', 'changed');
    expect(harnessDigest(root)).toBe(before);
  });

  it('is the same once it is recorded, and recorded as it is', () => {
    expect(recordedDigest(root)).toBeUndefined();
    const digest = harnessDigest(root);
    recordDigest(root, digest);
    expect(recordedDigest(root)).toBe(digest);
    expect(harnessDigest(root)).toBe(digest);
  });

  it('needs a clone', () => {
    rmSync(path.join(root, '.git'), { recursive: true });
    expect(() => harnessDigest(root)).toThrow('git cannot list the harness');
  });
});
