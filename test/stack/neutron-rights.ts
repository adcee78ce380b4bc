/** The rights that a coordinator needs for Neutron besides its own. */
import type { Cluster } from 'kind-test-harness';
import { installed, listOf } from './installation.ts';

/**
 * To service accounts of the namespace; without one to all, in a cluster that a test has for
 * itself.
 */
export const grantNeutron = async (cluster: Cluster, namespace?: string): Promise<void> => {
  const all = 'system:serviceaccounts';
  const role = await installed(cluster, 'ClusterRole', 'sdewan-neutron');
  const binding = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'sdewan-neutron' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'sdewan-neutron' },
    subjects: [
      {
        apiGroup: 'rbac.authorization.k8s.io',
        kind: 'Group',
        name: namespace === undefined ? all : `${all}:${namespace}`,
      },
    ],
  };
  await cluster.kubectl(['apply', '--server-side', '-f', '-'], { stdin: listOf([role, binding]) });
};
