/** Facts from the API server itself, as of the moment of asking. */
import { referencesOf } from '#shared/compile/check.ts';
import { PAGE_SIZE, type KubeClient } from '#shared/kube/client.ts';
import { isNotFound } from '#shared/kube/errors.ts';
import type { KubeObject, ResourceType } from '#shared/kube/objects.ts';
import { PURPOSE_LABEL } from '#shared/names.ts';
import { listedPods, listedWorkloads } from '../sources/workload.ts';
import { grantsOf, rbacOf } from './buckets/bindings.ts';
import type { KeptRule } from '../sources/kept-rule.ts';
import { networkNames, purposesAmong } from './cnfs.ts';
import type { RuleChange } from './checks/check.ts';
import { confirmedRules, schemaFor } from './confirmed-rules.ts';
import type { LiveFacts } from './fact-source.ts';

type Scope = { namespace?: string; labelSelector?: string; signal: AbortSignal };

export const createLiveFacts = (client: Pick<KubeClient, 'get' | 'list'>): LiveFacts => {
  const list = async <T extends KubeObject>(
    resource: ResourceType<T>,
    scope: Scope,
  ): Promise<T[]> => (await client.list(resource, { ...scope, pageSize: PAGE_SIZE })).items;

  const tied = async (
    change: RuleChange,
    kinds: readonly ResourceType<object>[],
    signal: AbortSignal,
  ): Promise<KeptRule[]> => {
    const { namespace, purpose } = change;
    const scope = { namespace, labelSelector: `${PURPOSE_LABEL}=${purpose}`, signal };
    const schema = schemaFor(change);
    const lists = await Promise.all(
      kinds.map((kind) =>
        list({ ...kind, schema }, scope).catch((error: unknown) => {
          // A kind whose CRD is not installed has no objects.
          if (isNotFound(error)) return [];
          throw error;
        }),
      ),
    );
    // What it refers to may be misspelt: the answer names those that there are.
    const asked = new Set((change.after ? referencesOf(change.after) : []).map((one) => one.kind));
    return lists.flat().filter(({ kind, indexKeys }) => indexKeys.length > 0 || asked.has(kind));
  };

  const cnfs = async (namespace: string, labelSelector: string, signal: AbortSignal) => {
    const scope = { namespace, labelSelector, signal };
    const [pods, ...workloads] = await Promise.all([
      list(listedPods, scope),
      ...listedWorkloads.map((resource) => list(resource, scope)),
    ]);
    return { pods, workloads: workloads.flat().map(({ workload }) => workload) };
  };

  return {
    rules: ({ change, kinds, cached }, signal) =>
      cached ? confirmedRules(client, change, cached, signal) : tied(change, kinds, signal),

    networks: async ({ namespace, purpose }, signal) => {
      const { pods, workloads } = await cnfs(namespace, `${PURPOSE_LABEL}=${purpose}`, signal);
      return networkNames([...workloads, ...pods].map(({ networks }) => networks));
    },

    purposes: async ({ namespace }, signal) => {
      const { pods, workloads } = await cnfs(namespace, PURPOSE_LABEL, signal);
      return purposesAmong([
        ...workloads.flatMap(({ purpose, templatePurpose }) => [purpose, templatePurpose]),
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
        roles,
        roleBindings,
        clusterRoles,
        clusterRoleBindings,
      });
    },
  };
};
