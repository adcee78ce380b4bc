/** Facts from the API server itself, as of the moment of asking. */
import { PAGE_SIZE, type KubeClient } from '#shared/kube/client.ts';
import { isNotFound } from '#shared/kube/errors.ts';
import { objectSchema, type KubeObject, type ResourceType } from '#shared/kube/objects.ts';
import { PURPOSE_LABEL } from '#shared/names.ts';
import { listedPods, listedWorkloads } from '../cnf/workload.ts';
import { grantsOf, rbacOf } from './buckets/bindings.ts';
import { identified, type KeptRule } from '../memory/kept-rule.ts';
import { networkNames } from './networks.ts';
import { purposesAmong } from './purposes.ts';
import { tiesTo } from './ties.ts';
import type { World } from './world.ts';

type Scope = { namespace?: string; labelSelector?: string; signal: AbortSignal };

export const createLiveWorld = (client: Pick<KubeClient, 'list'>): World => {
  const list = async <T extends KubeObject>(
    resource: ResourceType<T>,
    scope: Scope,
  ): Promise<T[]> => (await client.list(resource, { ...scope, pageSize: PAGE_SIZE })).items;

  return {
    rules: async ({ change, kinds }, signal) => {
      const { namespace, purpose } = change;
      const scope = { namespace, labelSelector: `${PURPOSE_LABEL}=${purpose}`, signal };
      // A spec can have half a megabyte, and a tenant a thousand of them: of each only what the change is about stays.
      const schema = objectSchema.transform((object): KeptRule => ({
        ...identified(object),
        revision: '',
        ties: tiesTo(object, change),
        shape: undefined,
      }));
      const lists = await Promise.all(
        kinds.map((kind) =>
          list({ ...kind, schema }, scope).catch((error: unknown) => {
            // A kind whose CRD is not installed has no objects.
            if (isNotFound(error)) return [];
            throw error;
          }),
        ),
      );
      return lists.flat().filter(({ ties }) => ties.length > 0);
    },

    networks: async ({ namespace, purpose }, signal) => {
      const scope = { namespace, labelSelector: `${PURPOSE_LABEL}=${purpose}`, signal };
      const [pods, ...workloads] = await Promise.all([
        list(listedPods, scope),
        ...listedWorkloads.map((resource) => list(resource, scope)),
      ]);
      return networkNames([
        ...workloads.flat().map(({ workload }) => workload.networks),
        ...pods.map(({ networks }) => networks),
      ]);
    },

    purposes: async ({ namespace }, signal) => {
      const scope = { namespace, labelSelector: PURPOSE_LABEL, signal };
      const [pods, ...workloads] = await Promise.all([
        list(listedPods, scope),
        ...listedWorkloads.map((resource) => list(resource, scope)),
      ]);
      return purposesAmong([
        ...workloads
          .flat()
          .flatMap(({ workload: { purpose, templatePurpose } }) => [purpose, templatePurpose]),
        ...pods.map(({ purpose }) => purpose),
      ]);
    },

    grants: async (user, namespace, signal) => {
      const inNamespace = { namespace, signal };
      const rbac = rbacOf(user);
      const [roles, roleBindings, clusterRoles, clusterRoleBindings] = await Promise.all([
        list(rbac.roles, inNamespace),
        list(rbac.roleBindings, inNamespace),
        list(rbac.clusterRoles, { signal }),
        list(rbac.clusterRoleBindings, { signal }),
      ]);
      return grantsOf(user, namespace, {
        roles: roles.map(({ role }) => role),
        roleBindings: roleBindings.map(({ binding }) => binding),
        clusterRoles: clusterRoles.map(({ role }) => role),
        clusterRoleBindings: clusterRoleBindings.map(({ binding }) => binding),
      });
    },
  };
};
