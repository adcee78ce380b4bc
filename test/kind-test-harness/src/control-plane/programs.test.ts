import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { choosePrograms, PROGRAM_NAMES } from './programs.ts';

let directory: string;
const said: string[] = [];
const say = (line: string) => said.push(line);

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'programs-'));
  said.length = 0;
  vi.stubEnv('XDG_CACHE_HOME', join(directory, 'cache'));
  vi.stubEnv('PATH', directory);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(directory, { recursive: true });
});

const putPrograms = async (names: readonly string[]): Promise<string> => {
  const assets = join(directory, 'assets');
  await mkdir(assets);
  for (const name of names) {
    await writeFile(join(assets, name), '');
    await chmod(join(assets, name), 0o755);
  }
  return assets;
};

describe('without a cached build', () => {
  it('KUBEBUILDER_ASSETS are taken when they are complete', async () => {
    const assets = await putPrograms(PROGRAM_NAMES);
    const programs = await choosePrograms({ env: { KUBEBUILDER_ASSETS: assets }, say });
    expect(programs.command('etcd')).toEqual([join(assets, 'etcd')]);
    expect(programs.reason).toContain(assets);
  });

  it('envtest assets, which lack a controller-manager, are named and not taken', async () => {
    const assets = await putPrograms(['etcd', 'kube-apiserver', 'kubectl']);
    const choice = choosePrograms({ env: { KUBEBUILDER_ASSETS: assets }, say });
    await expect(choice).rejects.toThrow('there is no `go` on PATH');
    expect(said).toEqual([
      `KUBEBUILDER_ASSETS=${assets} lacks kube-controller-manager, kube-scheduler: not used`,
    ]);
  });
});
