import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { isSamePayload, writeAtomically, type Payload } from './atomic-directory.ts';

let directory: string;
beforeEach(async () => {
  directory = join(await mkdtemp(join(tmpdir(), 'atomic-')), 'volume');
});
afterEach(async () => {
  await rm(join(directory, '..'), { recursive: true });
});

const payload = (files: Record<string, string>, mode = 0o644): Payload =>
  new Map(Object.entries(files).map(([path, text]) => [path, { data: Buffer.from(text), mode }]));

describe('writeAtomically', () => {
  it('writes files with their modes, also in folders', async () => {
    await writeAtomically(directory, payload({ a: '1', 'b/c': '2' }, 0o400), 1);
    expect(await readFile(join(directory, 'a'), 'utf8')).toBe('1');
    expect(await readFile(join(directory, 'b/c'), 'utf8')).toBe('2');
    expect((await stat(join(directory, 'a'))).mode & 0o777).toBe(0o400);
  });

  it('switches to the next set, and leaves nothing of the one before', async () => {
    await writeAtomically(directory, payload({ a: '1', gone: '1' }), 1);
    await writeAtomically(directory, payload({ a: '2', new: '2' }), 2);
    expect(await readFile(join(directory, 'a'), 'utf8')).toBe('2');
    expect((await readdir(directory)).sort()).toEqual(['..2', '..data', 'a', 'new']);
  });

  it('makes a folder for nothing', async () => {
    await writeAtomically(directory, new Map(), 1);
    expect((await readdir(directory)).sort()).toEqual(['..1', '..data']);
  });
});

describe('isSamePayload', () => {
  it.each<[string, Payload, boolean]>([
    ['the same', payload({ a: '1' }), true],
    ['another text', payload({ a: '2' }), false],
    ['another mode', payload({ a: '1' }, 0o600), false],
    ['another name', payload({ b: '1' }), false],
    ['one more', payload({ a: '1', b: '' }), false],
  ])('%s', (_, other, expected) => {
    expect(isSamePayload(payload({ a: '1' }), other)).toBe(expected);
  });
});
