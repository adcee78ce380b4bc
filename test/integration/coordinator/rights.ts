/** A service account with the rights that an installation gives the coordinator, and no more; they can be taken away. */
import type { Cluster } from 'kind-test-harness';
import { join } from 'node:path';
import * as z from 'zod';

const MANIFEST = join(import.meta.dirname, '../../../deploy/rbac/coordinator.yaml');
const NAME = 'sdewan-coordinator';

export type Rights = {
  kubeconfig: string;
  grant: () => Promise<void>;
  revoke: () => Promise<void>;
};

const kubeconfigSchema = z.object({ clusters: z.array(z.looseObject({ name: z.string() })) });

/** They are granted at first. */
export const createAccount = async (cluster: Cluster, namespace: string): Promise<Rights> => {
  const inNamespace = ['--namespace', namespace];
  await cluster.kubectl(['apply', '--server-side', ...inNamespace, '-f', MANIFEST]);
  const binding = `${NAME}-${namespace}`;
  const account = `--serviceaccount=${namespace}:${NAME}`;
  const create = ['create', 'clusterrolebinding', binding, `--clusterrole=${NAME}`, account];
  const rights: Rights = {
    kubeconfig: await kubeconfigFor(cluster, inNamespace),
    grant: async () => void (await cluster.kubectl(create)),
    revoke: async () => void (await cluster.kubectl(['delete', 'clusterrolebinding', binding])),
  };
  await rights.grant();
  return rights;
};

const kubeconfigFor = async (cluster: Cluster, inNamespace: readonly string[]): Promise<string> => {
  const asked = ['create', 'token', NAME, ...inNamespace, '--duration=6h'];
  const { stdout: token } = await cluster.kubectl(asked);
  const view = await cluster.kubectl(['config', 'view', '--raw', '--minify', '-o', 'json']);
  const { clusters } = kubeconfigSchema.parse(JSON.parse(view.stdout));
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: clusters.map((entry) => ({ ...entry, name: 'test' })),
    users: [{ name: NAME, user: { token: token.trim() } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: NAME } }],
    'current-context': 'test',
  });
};
