/** kubectl and programs as a service account: with its token, and so with its rights alone. */
import type { Cluster } from 'kind-test-harness';
import * as z from 'zod';

const kubeconfigSchema = z.object({ clusters: z.array(z.looseObject({ name: z.string() })) });

/** The text of a kubeconfig with a fresh token. */
export const kubeconfigOf = async (
  cluster: Cluster,
  namespace: string,
  account: string,
): Promise<string> => {
  const asked = ['create', 'token', account, '--namespace', namespace, '--duration=6h'];
  const { stdout: token } = await cluster.kubectl(asked);
  const view = await cluster.kubectl(['config', 'view', '--raw', '--minify', '-o', 'json']);
  const { clusters } = kubeconfigSchema.parse(JSON.parse(view.stdout));
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: clusters.map((entry) => ({ ...entry, name: 'test' })),
    users: [{ name: account, user: { token: token.trim() } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: account } }],
    'current-context': 'test',
  });
};
