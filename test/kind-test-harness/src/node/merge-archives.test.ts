import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { writeImageArchive } from '../image-archive.ts';
import { tar } from '../tar.ts';
import { mergeArchives } from './merge-archives.ts';

const execute = promisify(execFile);
let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'merge-archives-'));
});
afterEach(() => rm(directory, { recursive: true }));

const image = async (name: string, content: string): Promise<string> => {
  const path = join(directory, `${name}.tar`);
  await writeImageArchive(path, { name: `test/${name}:1`, entries: [{ path: '/x', content }] });
  return path;
};
const list = async (archive: string): Promise<string[]> =>
  (await execute('tar', ['tf', archive])).stdout.trim().split('\n');

describe('mergeArchives', () => {
  it('keeps every image, and each layer once', async () => {
    const archives = [
      await image('a', 'same'),
      await image('b', 'same'),
      await image('c', 'other'),
    ];
    const merged = join(directory, 'merged.tar');
    expect(await mergeArchives(archives, merged)).toBe(true);
    const names = await list(merged);
    expect(new Set(names).size).toBe(names.length);
    await execute('tar', ['xf', merged, '-C', directory]);
    const manifest: { RepoTags: string[]; Config: string; Layers: string[] }[] = JSON.parse(
      await readFile(join(directory, 'manifest.json'), 'utf8'),
    );
    expect(manifest.flatMap(({ RepoTags }) => RepoTags)).toEqual([
      'test/a:1',
      'test/b:1',
      'test/c:1',
    ]);
    for (const { Config, Layers } of manifest)
      expect(names).toEqual(expect.arrayContaining([Config, ...Layers]));
    expect(new Set(manifest.flatMap(({ Layers }) => Layers)).size).toBe(2);
    for (const layer of manifest.flatMap(({ Layers }) => Layers)) {
      const { stdout } = await execute('sha256sum', [join(directory, layer)]);
      expect(layer).toBe(`${stdout.split(' ')[0]}.tar`);
    }
  });

  it.each([
    [
      'OCI layouts',
      [
        { name: 'index.json', body: '{}' },
        { name: 'manifest.json', body: '[]' },
      ],
    ],
    ['what is no image', [{ name: 'readme', body: 'x' }]],
    [
      'layers that are not named by content',
      [
        { name: 'layer.tar', body: 'xy' },
        { name: 'manifest.json', body: '[]' },
      ],
    ],
  ])('leaves %s alone', async (_, files) => {
    const path = join(directory, 'odd.tar');
    const other = join(directory, 'other.tar');
    const file = ({ name, body }: { name: string; body: string }) =>
      ({ name, type: 'file', mode: 0o644, body: Buffer.from(body) }) as const;
    await writeFile(path, tar(files.map(file)));
    await writeFile(
      other,
      tar(
        [
          { name: 'layer.tar', body: 'x' },
          { name: 'manifest.json', body: '[]' },
        ].map(file),
      ),
    );
    expect(await mergeArchives([other, path], join(directory, 'merged.tar'))).toBe(false);
  });
});
