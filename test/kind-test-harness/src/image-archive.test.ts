import { execFile } from 'node:child_process';
import { mkdtemp, readFile, readlink, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { writeImageArchive, type ImageArchive } from './image-archive.ts';

const execute = promisify(execFile);
let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'image-archive-'));
});
afterEach(() => rm(directory, { recursive: true }));

const long = `${'folder/'.repeat(20)}file`;
const image = (): ImageArchive => ({
  name: 'test.local/thing:1',
  entrypoint: ['/bin/thing'],
  env: { MODE: 'x' },
  entries: [
    { path: '/bin/thing', source: join(directory, 'thing') },
    { path: '/etc/passwd', content: 'root:x:0:0::/:/bin/sh\n', mode: 0o644 },
    { path: '/bin/alias', linkTo: 'thing' },
    { path: '/tmp', directory: true, mode: 0o1777 },
    { path: `/${long}`, content: 'deep' },
  ],
});

const unpack = async (): Promise<string> => {
  await writeFile(join(directory, 'thing'), 'x'.repeat(700));
  const archive = join(directory, 'image.tar');
  await writeImageArchive(archive, image());
  await execute('tar', ['xf', archive, '-C', directory]);
  await execute('mkdir', [join(directory, 'root')]);
  const [manifest] = JSON.parse(await readFile(join(directory, 'manifest.json'), 'utf8'));
  const layer = join(directory, manifest.Layers[0]);
  await execute('tar', ['xpf', layer, '-C', join(directory, 'root')]);
  return join(directory, 'root');
};

describe('writeImageArchive', () => {
  it('writes a layer that tar unpacks to what was asked for', async () => {
    const root = await unpack();
    expect(await readFile(join(root, 'bin/thing'), 'utf8')).toBe('x'.repeat(700));
    expect((await stat(join(root, 'bin/thing'))).mode & 0o7777).toBe(0o755);
    expect((await stat(join(root, 'etc/passwd'))).mode & 0o7777).toBe(0o644);
    expect((await stat(join(root, 'tmp'))).mode & 0o7777).toBe(0o1777);
    expect(await readlink(join(root, 'bin/alias'))).toBe('thing');
    expect(await readFile(join(root, long), 'utf8')).toBe('deep');
  });

  it('writes a manifest and a config that name the image, its entrypoint and its layer by digest', async () => {
    await unpack();
    const [manifest] = JSON.parse(await readFile(join(directory, 'manifest.json'), 'utf8'));
    expect(manifest.RepoTags).toEqual(['test.local/thing:1']);
    const config = JSON.parse(await readFile(join(directory, manifest.Config), 'utf8'));
    expect(config.config.Entrypoint).toEqual(['/bin/thing']);
    expect(config.config.Env).toContain('MODE=x');
    const { stdout } = await execute('sha256sum', [join(directory, manifest.Layers[0])]);
    expect(config.rootfs.diff_ids).toEqual([`sha256:${stdout.split(' ')[0]}`]);
  });

  it('gives the same bytes for the same input', async () => {
    await unpack();
    const first = await readFile(join(directory, 'image.tar'));
    await writeImageArchive(join(directory, 'again.tar'), image());
    expect((await readFile(join(directory, 'again.tar'))).equals(first)).toBe(true);
  });
});
