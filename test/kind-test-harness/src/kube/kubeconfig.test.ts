import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { readKubeconfig, writeKubeconfig } from './kubeconfig.ts';

it('reads back the kubeconfig that it writes, which only its user can read', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'kubeconfig-'));
  const path = join(directory, 'kubeconfig');
  const connection = { server: 'https://127.0.0.1:6443', ca: 'PEM: "quoted"\n', token: 'secret' };
  await writeKubeconfig(path, connection);

  expect(await readKubeconfig(path)).toMatchObject(connection);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  await rm(directory, { recursive: true });
});
