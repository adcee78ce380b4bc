/** Facts from the API server itself, as of the moment of asking. */
import * as z from 'zod';
import type { KubeClient } from '#shared/kube/client.ts';
import { isNotFound } from '#shared/kube/errors.ts';
import type { KubeObject, ResourceType } from '#shared/kube/objects.ts';
import { NFN_NETWORK_ANNOTATION, PURPOSE_LABEL } from '#shared/names.ts';
import { podResource, workloadOf, workloadResources } from '../cnf/workload.ts';
import { bindingSchema, grantsOf, rbacResources, roleSchema } from './buckets/bindings.ts';
import { networkNames } from './networks.ts';
import { purposesAmong } from './purposes.ts';
import type { World } from './world.ts';

type Scope = { namespace?: string; labelSelector?: string; signal: AbortSignal };

export const createLiveWorld = (client: Pick<KubeClient, 'list'>): World => {
  const list = async <T extends KubeObject>(
    resource: ResourceType<T>,
    scope: Scope,
  ): Promise<T[]> => (await client.list(resource, scope)).items;

  return {
    rules: async ({ change: { namespace, purpose }, kinds }, signal) => {
      const scope = { namespace, labelSelector: `${PURPOSE_LABEL}=${purpose}`, signal };
      const lists = await Promise.all(
        kinds.map((kind) =>
          list(kind, scope).catch((error: unknown) => {
            // A kind whose CRD is not installed has no objects.
            if (isNotFound(error)) return [];
            throw error;
          }),
        ),
      );
      return lists.flat();
    },

    networks: async ({ namespace, purpose }, signal) => {
      const scope = { namespace, labelSelector: `${PURPOSE_LABEL}=${purpose}`, signal };
      const [pods, ...workloads] = await Promise.all([
        list(podResource, scope),
        ...workloadResources.map((resource) => list(resource, scope)),
      ]);
      return networkNames([
        ...workloads.flat().map((workload) => workloadOf(workload).networks),
        ...pods.map(({ metadata }) => metadata.annotations?.[NFN_NETWORK_ANNOTATION]),
      ]);
    },

    purposes: async ({ namespace }, signal) => {
      const scope = { namespace, labelSelector: PURPOSE_LABEL, signal };
      const [pods, ...workloads] = await Promise.all([
        list(podResource, scope),
        ...workloadResources.map((resource) => list(resource, scope)),
      ]);
      return purposesAmong([
        ...workloads.flat().flatMap((workload) => {
          const { purpose, templatePurpose } = workloadOf(workload);
          return [purpose, templatePurpose];
        }),
        ...pods.map(({ metadata }) => metadata.labels?.[PURPOSE_LABEL]),
      ]);
    },

    grants: async (user, namespace, signal) => {
      const inNamespace = { namespace, signal };
      const { roles, roleBindings, clusterRoles, clusterRoleBindings } = rbacResources;
      const lists = await Promise.all([
        list(roles, inNamespace),
        list(roleBindings, inNamespace),
        list(clusterRoles, { signal }),
        list(clusterRoleBindings, { signal }),
      ]);
      return grantsOf(user, namespace, {
        roles: z.array(roleSchema).parse(lists[0]),
        roleBindings: z.array(bindingSchema).parse(lists[1]),
        clusterRoles: z.array(roleSchema).parse(lists[2]),
        clusterRoleBindings: z.array(bindingSchema).parse(lists[3]),
      });
    },
  };
};
