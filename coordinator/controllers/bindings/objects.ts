/** What a namespace with CNFs needs, so that agents read rules and trust the coordinator. Pure. */
import { AGENT_KEYS_ROLE, AGENT_ROLE } from '#shared/names.ts';
import { DEFAULT_SERVICE_ACCOUNT } from '../../sources/workload.ts';

/**
 * Service accounts by the name of the RoleBinding, which is that of the ClusterRole that it binds;
 * none: no binding. `defaultReadsKeys`: the namespace lets service account `default` read the kinds
 * that hold keys.
 */
export const desiredBindings = (
  accounts: readonly string[],
  defaultReadsKeys: boolean,
): (readonly [name: string, accounts: readonly string[]])[] => {
  const all = [...new Set(accounts)].sort();
  const readers = all.filter((name) => defaultReadsKeys || name !== DEFAULT_SERVICE_ACCOUNT);
  return [
    [AGENT_ROLE, all],
    [AGENT_KEYS_ROLE, readers],
  ];
};

export const RBAC = 'rbac.authorization.k8s.io';

/** A RoleBinding's fields that give a ClusterRole to service accounts of its own namespace. */
export const bindingFields = (role: string, namespace: string, accounts: readonly string[]) => ({
  roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: role },
  subjects: accounts.map((name) => ({ kind: 'ServiceAccount', name, namespace })),
});
