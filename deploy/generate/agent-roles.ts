/** The two ClusterRoles that agents are bound to in their namespaces: reading rule CRs, and those that hold keys apart. */
import type { KindDefinition } from '#shared/resources/kind.ts';
import { AGENT_KEYS_ROLE, AGENT_ROLE } from '#shared/names.ts';

type ClusterRole = {
  apiVersion: string;
  kind: 'ClusterRole';
  metadata: { name: string };
  rules: { apiGroups: string[]; resources: string[]; verbs: string[] }[];
};

export const agentRoles = (kinds: readonly KindDefinition[]): ClusterRole[] => [
  reader(
    AGENT_ROLE,
    kinds.filter(({ holdsKeys }) => !holdsKeys),
  ),
  reader(
    AGENT_KEYS_ROLE,
    kinds.filter(({ holdsKeys }) => holdsKeys),
  ),
];

/** Without kinds it is there all the same, and grants nothing: bindings to it stay valid. */
const reader = (name: string, kinds: readonly KindDefinition[]): ClusterRole => {
  const groups = [...new Set(kinds.map(({ group }) => group))];
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name },
    rules: groups.map((group) => ({
      apiGroups: [group],
      resources: kinds.filter((kind) => kind.group === group).map(({ plural }) => plural),
      verbs: ['list', 'watch'],
    })),
  };
};
