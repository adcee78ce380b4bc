/**
 * Bodies that the API server refuses before it has read them: of a user without rights, and of more
 * than its own limit. What was not sent of them once stayed in the one session of HTTP/2, until
 * Node refused every other stream of it.
 */
import { createKubeClient, type KubeClient } from '#shared/kube/client.ts';
import { loadKubeConfig } from '#shared/kube/config.ts';
import { objectSchema, resourceV1 } from '#shared/kube/objects.ts';
import { connectCluster, type Cluster } from 'kind-test-harness';
import { afterAll, beforeAll, expect, it } from 'vitest';

/** Node lets a session hold 10 MB. */
const WRITES = 30;
const configMaps = { ...resourceV1('', 'configmaps', 'ConfigMap'), schema: objectSchema };

let cluster: Cluster;
let namespace: string;
let client: KubeClient;

beforeAll(async () => {
  cluster = await connectCluster();
  namespace = await cluster.createNamespace('large');
  const token = await cluster.kubectl(['create', 'token', 'default', '-n', namespace]);
  const config = await loadKubeConfig({ kubeconfig: cluster.kubeconfig });
  const headers = async (): Promise<Record<string, string>> => ({
    authorization: `Bearer ${token.stdout.trim()}`,
  });
  const tls = async () => ({ ...(await config.tls()), cert: undefined, key: undefined });
  client = createKubeClient({ config: { ...config, headers, tls } });
});
afterAll(async () => {
  await client.close();
});

const write = async (length: number): Promise<unknown> =>
  client
    .create(configMaps, { metadata: { namespace, name: 'a' }, data: { a: 'a'.repeat(length) } })
    .then(
      () => 'created',
      ({ status }: { status: number }) => status,
    );

it.each([900_000, 4_000_000])('answers others after refused bodies of %i bytes', async (length) => {
  const answers = await Promise.all(Array.from({ length: WRITES }, () => write(length)));
  expect(new Set(answers)).toEqual(new Set([403]));
  await expect(client.serverVersion()).resolves.toMatch(/^v1/);
  expect(client.unansweredForMs()).toBeUndefined();
});
