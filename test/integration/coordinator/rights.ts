/**
 * A service account with the rights that an installation gives the coordinator, and no more; they
 * can be taken away for a while.
 */
import type { Cluster } from 'kind-test-harness';
import { installed, listOf, SYSTEM_NAMESPACE, type Manifest } from '../../stack/installation.ts';
import { kubeconfigOf } from '../../stack/service-account.ts';

const NAME = 'sdewan-coordinator';
const LEASE_ROLE = 'sdewan-coordinator-lease';

export type Rights = {
  kubeconfig: string;
  /** It has none of them while that runs. */
  without: (use: () => Promise<void>) => Promise<void>;
};

/** `more`: objects of a component that name the account. */
export const createAccount = async (
  cluster: Cluster,
  namespace: string,
  more: readonly Manifest[] = [],
): Promise<Rights> => {
  const objects = [
    await installed(cluster, 'ServiceAccount', NAME),
    await installed(cluster, 'ClusterRole', NAME),
    await installed(cluster, 'Role', LEASE_ROLE),
    await installed(cluster, 'RoleBinding', LEASE_ROLE),
    ...more,
  ];
  const stdin = listOf(objects).replaceAll(SYSTEM_NAMESPACE, namespace);
  await cluster.kubectl(['apply', '--server-side', '-f', '-'], { stdin });
  const binding = `${NAME}-${namespace}`;
  const account = `--serviceaccount=${namespace}:${NAME}`;
  const create = ['create', 'clusterrolebinding', binding, `--clusterrole=${NAME}`, account];
  await cluster.kubectl(create);
  return {
    kubeconfig: await kubeconfigOf(cluster, namespace, NAME),
    without: async (use) => {
      await cluster.kubectl(['delete', 'clusterrolebinding', binding]);
      try {
        await use();
      } finally {
        await cluster.kubectl(create);
      }
    },
  };
};
