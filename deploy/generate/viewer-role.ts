/**
 * The ClusterRole of those who look at rules and CNFs: all that statuses tell. No kind that holds keys, and nothing of pods: port-forward and
 * exec equal root on the CNF. Nobody is bound to it; administrators bind whom they want, in a namespace or in all.
 */
import { VIEWER_ROLE } from '#shared/names.ts';
import type { KindDefinition } from '#shared/resources/kind.ts';
import { cnfSetResource } from '#shared/resources/cnf-set.ts';
import { cnfStatusResource } from '#shared/resources/cnf-status.ts';
import { cnfResource } from '#shared/resources/cnf.ts';
import { policyEnforcementResource } from '#shared/resources/policy-enforcement.ts';

export const viewerRole = (kinds: readonly KindDefinition[]): object => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: VIEWER_ROLE },
  rules: [
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
  ],
});

const READ = ['get', 'list', 'watch'];
