/** What a namespace with CNFs has to have, so that their agents can read rules and trust the coordinator. Pure. */
import { AGENT_KEYS_ROLE, AGENT_ROLE } from '#shared/names.ts';
import { DEFAULT_SERVICE_ACCOUNT } from '../cnf/workload.ts';

/** What is known of a namespace. */
export type NamespaceFacts = {
  /** Service accounts of CNF pods and workloads; each may come more than once. */
  accounts: readonly string[];
  /** The namespace lets service account `default` read the kinds that hold keys. */
  defaultReadsKeys: boolean;
};

export type DesiredBinding = {
  /** Of the RoleBinding and of the ClusterRole that it binds. */
  name: string;
  /** Service accounts of the namespace, sorted; empty: no binding. */
  accounts: readonly string[];
};

export const desiredBindings = ({
  accounts,
  defaultReadsKeys,
}: NamespaceFacts): DesiredBinding[] => {
  const all = [...new Set(accounts)].sort();
  return [
    { name: AGENT_ROLE, accounts: all },
    {
      name: AGENT_KEYS_ROLE,
      accounts: all.filter((name) => defaultReadsKeys || name !== DEFAULT_SERVICE_ACCOUNT),
    },
  ];
};

export const RBAC = 'rbac.authorization.k8s.io';

/** Of a RoleBinding that gives a ClusterRole to service accounts of its own namespace. */
export const bindingFields = (role: string, namespace: string, accounts: readonly string[]) => ({
  roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: role },
  subjects: accounts.map((name) => ({ kind: 'ServiceAccount', name, namespace })),
});
