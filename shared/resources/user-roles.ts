/** What people may do who are bound to one of our ClusterRoles. */
import { addressGroupResource } from './other-kinds/address-group.ts';
import { cnfSetResource } from './other-kinds/cnf-set.ts';
import { cnfStatusResource } from './other-kinds/cnf-status.ts';
import { cnfResource } from './other-kinds/cnf.ts';
import type { KindDefinition } from './kind.ts';
import { policyEnforcementResource } from './other-kinds/policy-enforcement.ts';

/** As RBAC has it. */
export type RoleRule = { apiGroups: string[]; resources: string[]; verbs: string[] };

export const READ = ['get', 'list', 'watch'];

/**
 * Rights of people who look at rules and CNFs (ClusterRole sdewan-viewer): all that statuses tell.
 * No kind that holds keys, and nothing of pods: port-forward and exec equal root on the CNF.
 */
export const viewerRules = (kinds: readonly KindDefinition[]): RoleRule[] => [
  {
    apiGroups: [cnfStatusResource.group],
    resources: [
      ...kinds.filter(({ holdsKeys }) => !holdsKeys).map(({ plural }) => plural),
      cnfStatusResource.plural,
    ],
    verbs: READ,
  },
  {
    // No CNFDeployment: its template says what may be in the environment of pods.
    apiGroups: [cnfResource.group],
    resources: [cnfResource.plural, cnfSetResource.plural],
    verbs: READ,
  },
  {
    apiGroups: [policyEnforcementResource.group],
    resources: [policyEnforcementResource.plural],
    verbs: READ,
  },
  { apiGroups: ['', 'events.k8s.io'], resources: ['events'], verbs: READ },
];

/**
 * Rights of people who ask agents (ClusterRole sdewan-debug), which equals root on the CNF: its
 * OpenWRT trusts what comes from loopback.
 */
export const debugRules: readonly RoleRule[] = [
  { apiGroups: [''], resources: ['pods'], verbs: READ },
  { apiGroups: [''], resources: ['pods/log'], verbs: ['get'] },
  // By WebSocket it is a GET, which newer API servers allow only with the right to create.
  { apiGroups: [''], resources: ['pods/portforward'], verbs: ['get', 'create'] },
  // The members of policies' groups: the agent, whose loopback it reaches, may read them, too.
  {
    apiGroups: [addressGroupResource.group],
    resources: [addressGroupResource.plural],
    verbs: READ,
  },
];
