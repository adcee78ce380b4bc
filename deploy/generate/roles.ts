/**
 * Rights, and the ClusterRoles of those who have them in their namespaces: of agents, reading
 * rules, and those that hold keys apart; of people who look at rules and CNFs, and who ask agents.
 * Administrators bind people's roles to whom they want.
 */
import { AGENT_KEYS_ROLE, AGENT_ROLE, DEBUG_ROLE, VIEWER_ROLE } from '#shared/names.ts';
import type { KindDefinition } from '#shared/resources/kind.ts';
import { debugRules, viewerRules, type RoleRule } from '#shared/resources/user-roles.ts';

type Named = { group: string; plural: string };

export const groupsOf = (resources: readonly Named[]): string[] => [
  ...new Set(resources.map(({ group }) => group)),
];

export const rightsOn = (
  resources: readonly Named[],
  verbs: readonly string[],
  nameOf: (resource: Named) => string = ({ plural }) => plural,
): RoleRule[] =>
  groupsOf(resources).map((group) => ({
    apiGroups: [group],
    resources: [
      ...new Set(resources.filter((resource) => resource.group === group).map(nameOf)),
    ].sort(),
    verbs: [...verbs],
  }));

const clusterRole = (name: string, rules: readonly RoleRule[]): object => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name },
  rules,
});

/** Without kinds a role is there all the same, and grants nothing: bindings to it stay valid. */
const reader = (name: string, kinds: readonly Named[]): object =>
  clusterRole(name, rightsOn(kinds, ['list', 'watch']));

export const agentRoles = (kinds: readonly KindDefinition[]): object[] => {
  const { true: withKeys = [], false: others = [] } = Object.groupBy(kinds, ({ holdsKeys }) =>
    holdsKeys ? 'true' : 'false',
  );
  return [reader(AGENT_ROLE, others), reader(AGENT_KEYS_ROLE, withKeys)];
};

export const viewerRole = (kinds: readonly KindDefinition[]): object =>
  clusterRole(VIEWER_ROLE, viewerRules(kinds));

export const debugRole = (): object => clusterRole(DEBUG_ROLE, debugRules);
