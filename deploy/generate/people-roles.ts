/**
 * The ClusterRoles of those who look at rules and CNFs, and of those who ask agents. Nobody is bound to them; administrators bind whom they
 * want, in a namespace or in all.
 */
import { DEBUG_ROLE, VIEWER_ROLE } from '#shared/names.ts';
import type { KindDefinition } from '#shared/resources/kind.ts';
import { debugRules, viewerRules, type RoleRule } from '#shared/resources/people-rules.ts';

export const viewerRole = (kinds: readonly KindDefinition[]): object =>
  clusterRole(VIEWER_ROLE, viewerRules(kinds));

export const debugRole = (): object => clusterRole(DEBUG_ROLE, debugRules);

const clusterRole = (name: string, rules: readonly RoleRule[]): object => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name },
  rules,
});
