import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
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

it("reads a person's own file, in JSON as well", async () => {
  const directory = await mkdtemp(join(tmpdir(), 'kubeconfig-'));
  const path = join(directory, 'kubeconfig');
  const own = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'a', cluster: { server: 'https://127.0.0.1:1/' } }],
    users: [{ name: 'b', user: { token: 'secret' } }],
    contexts: [{ name: 'c', context: { cluster: 'a', user: 'b' } }],
    'current-context': 'c',
  };
  await writeFile(path, JSON.stringify(own));

  expect(await readKubeconfig(path)).toMatchObject({
    server: 'https://127.0.0.1:1',
    token: 'secret',
  });
  await rm(directory, { recursive: true });
});
