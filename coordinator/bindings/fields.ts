export const RBAC = 'rbac.authorization.k8s.io';

/** Of a RoleBinding that gives a ClusterRole to service accounts of its own namespace. */
export const bindingFields = (
  role: string,
  namespace: string,
  accounts: readonly string[],
): { roleRef: object; subjects: object[] } => ({
  roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: role },
  subjects: accounts.map((name) => ({ kind: 'ServiceAccount', name, namespace })),
});
