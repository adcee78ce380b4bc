import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { harnessDigest, isTested, runAndRecord } from './tested.ts';

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

  it('is recorded when its tests pass, until it changes', async () => {
    expect(isTested(root)).toBe(false);
    expect(await runAndRecord(root, async () => 0)).toBe(0);
    expect(isTested(root)).toBe(true);
    write(HARNESS, 'changed');
    expect(isTested(root)).toBe(false);
  });

  it('is not recorded when a test fails', async () => {
    expect(await runAndRecord(root, async () => 1)).toBe(1);
    expect(isTested(root)).toBe(false);
  });

  it('is not recorded when it changes while its tests run', async () => {
    const changing = async () => {
      write(HARNESS, 'changed');
      return 0;
    };
    expect(await runAndRecord(root, changing)).toBe(0);
    expect(isTested(root)).toBe(false);
  });

  it('needs a clone', () => {
    rmSync(path.join(root, '.git'), { recursive: true });
    expect(() => harnessDigest(root)).toThrow('git cannot list the harness');
  });
});
