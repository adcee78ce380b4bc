import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { systemClock } from '../runtime/clock.ts';
import { createRotatedFile, watchFiles } from './rotated-file.ts';

const until = (condition: () => unknown): Promise<unknown> =>
  vi.waitUntil(condition, { timeout: 60_000, interval: 5 });

let directory: string;
let stop: AbortController;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'rotated-'));
  stop = new AbortController();
});

afterEach(async () => {
  stop.abort();
  await rm(directory, { recursive: true });
});

/** As the kubelet does it: a new folder, and the symlink `..data` moved onto it in one step. */
const project = async (version: number, text: string): Promise<void> => {
  await mkdir(join(directory, `..${version}`));
  await writeFile(join(directory, `..${version}`, 'token'), text);
  await symlink(`..${version}`, join(directory, '..tmp'));
  await rename(join(directory, '..tmp'), join(directory, '..data'));
};

it('reads a projected file again when it is too old, or when asked to', async () => {
  await project(1, 'one');
  await symlink('..data/token', join(directory, 'token'));
  let now = 0;
  const clock = { ...systemClock, monotonic: () => now };
  const file = createRotatedFile(join(directory, 'token'), { maxAgeMs: 1_000, clock });
  expect(await file.read()).toBe('one');
  await project(2, 'two');
  now = 999;
  expect(await file.read()).toBe('one');
  now = 1_000;
  expect(await file.read()).toBe('two');
  await project(3, 'three');
  file.expire();
  expect(await file.read()).toBe('three');
});

/** Whole at any time, as a program that writes certificates has to. */
const put = async (path: string, text: string): Promise<void> => {
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
};

it('calls back once for a change, and tries again what could not be used', async () => {
  const path = join(directory, 'cert');
  await put(path, 'one');
  const seen: string[] = [];
  const errors: unknown[] = [];
  const first = await watchFiles({
    paths: [path],
    intervalMs: 10,
    onChange: ([text = '']) => {
      seen.push(text);
      if (seen.length === 1) throw new Error('half a certificate');
    },
    onError: (error) => errors.push(error),
    signal: stop.signal,
  });
  expect(first).toEqual(['one']);
  await put(path, 'two');
  await until(() => seen.length === 2);
  expect(errors).toHaveLength(1);
  await rm(path);
  await until(() => errors.length > 1);
  await put(path, 'three');
  await until(() => seen.at(-1) === 'three');
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(seen).toEqual(['two', 'two', 'three']);
});
