import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { resolveIn } from './resolve.ts';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'resolve-'));
  await mkdir(join(root, 'var/config'), { recursive: true });
  await mkdir(join(root, 'etc'));
  await symlink('/var/config', join(root, 'etc/config'));
  await symlink('../var', join(root, 'etc/relative'));
  await symlink('../../../../../../..', join(root, 'etc/out'));
  await symlink('loop', join(root, 'etc/loop'));
});
afterEach(() => rm(root, { recursive: true }));

describe('resolveIn', () => {
  it.each([
    ['a plain path', '/var/config/x', '/var/config/x'],
    ['a link to an absolute path', '/etc/config/firewall', '/var/config/firewall'],
    ['a relative link', '/etc/relative/config', '/var/config'],
    ['a way out of the root', '/etc/out/etc/passwd', '/etc/passwd'],
    ['dots', '/var/../etc/./../..', '/'],
    ['what is not there', '/none/at/../all', '/none/all'],
  ])('%s', async (_, path, expected) => {
    expect(await resolveIn(root, path)).toBe(join(root, expected));
  });

  it('ends in a loop', async () => {
    await expect(resolveIn(root, '/etc/loop')).rejects.toThrow('too many symbolic links');
  });
});
