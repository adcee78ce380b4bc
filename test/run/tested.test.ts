import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { digestOf, isTested, RECORD, runAndRecord } from './tested.ts';

const HARNESS = 'test/kind-test-harness/src/start.ts';
const TESTS = 'test/e2e/fleet/roll.test.ts';
const PRODUCT = 'agent/main.ts';
const PAGE = 'docs/fleet.md';
const OTHERS =
  'agent/main.test.ts agent/network-policy/watch.ts coordinator/main.ts agent/README.md test/e2e/fleet/ignored/file test/e2e/fleet/README.md'.split(
    ' ',
  );
const inputs = {
  paths: ['agent', 'test/e2e/fleet', 'docs', ':!agent/network-policy'],
  settings: {},
};
const fleet = { suite: 'fleet', inputs };

let root: string;
const write = (file: string, content: string): void => {
  mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
  writeFileSync(path.join(root, file), content);
};

beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'tested-'));
  execFileSync('git', ['init', '--quiet'], { cwd: root });
  write('.gitignore', 'ignored/\n');
  for (const file of ['package-lock.json', HARNESS, TESTS, PRODUCT, PAGE, RECORD, ...OTHERS])
    write(file, '{}');
  execFileSync('git', ['add', '.'], { cwd: root });
});
afterEach(() => rmSync(root, { recursive: true }));

const passing = async () => ({ hasPassed: true });

describe('the state of a suite', () => {
  it.each([
    ['a changed file of the product', () => write(PRODUCT, 'changed')],
    ['a changed test of it', () => write(TESTS, 'changed')],
    ['a changed page, where it runs pages', () => write(PAGE, 'changed')],
    ['a changed file of the harness', () => write(HARNESS, 'changed')],
    ['other dependencies', () => write('package-lock.json', 'changed')],
    ['a file that git does not know yet', () => write(`${TESTS}.new.ts`, '')],
    ['a file that is gone', () => rmSync(path.join(root, TESTS))],
    [
      'a file under another name',
      () => {
        rmSync(path.join(root, TESTS));
        write(`${TESTS}x`, '{}');
      },
    ],
  ])('is another with %s', (_, change) => {
    const before = digestOf(root, inputs);
    change();
    expect(digestOf(root, inputs)).not.toBe(before);
  });

  it('is another where vitest runs it otherwise', () => {
    expect(digestOf(root, { ...inputs, settings: { testTimeout: 1 } })).not.toBe(
      digestOf(root, inputs),
    );
  });

  it('is the same in another folder', () => {
    const settings = (folder: string) => ({ root: `${folder}/test/..` });
    const before = digestOf(root, { ...inputs, settings: settings(root) });
    const moved = `${root}-moved`;
    renameSync(root, moved);
    root = moved;
    expect(digestOf(root, { ...inputs, settings: settings(root) })).toBe(before);
  });

  it('is the same whatever else changes: unit tests, what it leaves out, what people read', () => {
    const before = digestOf(root, inputs);
    for (const file of OTHERS) write(file, 'changed');
    expect(digestOf(root, inputs)).toBe(before);
  });

  it('is recorded when its tests pass, until it changes', async () => {
    expect(isTested(root, 'fleet', inputs)).toBe(false);
    expect(await runAndRecord(root, fleet, passing)).toEqual({ hasPassed: true });
    expect(isTested(root, 'fleet', inputs)).toBe(true);
    expect(isTested(root, 'users', inputs)).toBe(false);
    write(PRODUCT, 'changed');
    expect(isTested(root, 'fleet', inputs)).toBe(false);
  });

  it('has a line of its own, in the order of names', async () => {
    for (const suite of ['users', 'fleet', 'users'])
      await runAndRecord(root, { suite, inputs }, passing);
    const lines = readFileSync(path.join(root, RECORD), 'utf8').split('\n');
    expect(lines.flatMap((line) => /^ {2}"(\w+)": "\w{32}",?$/.exec(line)?.[1] ?? [])).toEqual([
      'fleet',
      'users',
    ]);
  });

  it('is not recorded when a test fails', async () => {
    await runAndRecord(root, fleet, async () => ({ hasPassed: false }));
    expect(isTested(root, 'fleet', inputs)).toBe(false);
  });

  it('is not recorded when it changes while its tests run', async () => {
    await runAndRecord(root, fleet, async () => {
      write(PRODUCT, 'changed');
      return { hasPassed: true };
    });
    expect(isTested(root, 'fleet', inputs)).toBe(false);
  });

  it('needs a clone', () => {
    rmSync(path.join(root, '.git'), { recursive: true });
    expect(() => digestOf(root, inputs)).toThrow('git cannot list the inputs');
  });
});
