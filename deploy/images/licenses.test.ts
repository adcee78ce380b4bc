import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { LICENSES_FILE, writeLicenses } from './licenses.ts';

const ROOT = join(import.meta.dirname, '../..');
const FILES = ['agent/main.ts', 'node_modules/zod/index.js', 'node_modules/zod/v4/core/core.js'];

it('names each package of a bundle once, with version and text', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'licenses-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeLicenses(
    folder,
    FILES.map((file) => join(ROOT, file)),
  );
  const text = await readFile(join(folder, LICENSES_FILE), 'utf8');
  expect(text.match(/^\S+ \d+\.\d+\.\d+: .+$/gm)).toEqual([
    expect.stringMatching(/^zod \S+: MIT$/),
  ]);
  expect(text).toContain('Permission is hereby granted');
});
