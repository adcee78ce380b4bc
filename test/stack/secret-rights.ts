/**
 * As docs/drivers.md has who operates the CNF grant it: the agent of service account `cnf` may read
 * these Secrets.
 */
export const mayReadSecrets = (namespace: string, ...resourceNames: string[]): object[] => [
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'Role',
    metadata: { name: 'keys' },
    rules: [
      { apiGroups: [''], resources: ['secrets'], resourceNames, verbs: ['get', 'list', 'watch'] },
    ],
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name: 'keys' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'keys' },
    subjects: [{ kind: 'ServiceAccount', name: 'cnf', namespace }],
  },
];
