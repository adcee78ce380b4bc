/** Facts from the API server itself, as of the moment of asking. */
import { PAGE_SIZE, type KubeClient } from '#shared/kube/client.ts';
import { isNotFound } from '#shared/kube/errors.ts';
import {
  objectSchema,
  type KubeObject,
  type ResourceType,
  type RuleObject,
} from '#shared/kube/objects.ts';
import { PURPOSE_LABEL } from '#shared/names.ts';
import { kinds } from '#shared/resources/registry.ts';
import { listedPods, listedWorkloads } from '../cnf/workload.ts';
import { grantsOf, rbacOf } from './buckets/bindings.ts';
import { filterOf, identified, isFiltering, type KeptRule } from '../memory/kept-rule.ts';
import { networkNames, purposesAmong } from './cnfs.ts';
import { MAX_FILTERS, type RuleChange } from './checks/check.ts';
import { filtersToLookUp, linksToLookUp, tiesOf, tiesTo } from './ties.ts';
import type { World } from './world.ts';

const tiesAmong =
  (wanted: ReadonlySet<string>) =>
  (rule: RuleObject, filter: unknown): string[] =>
    tiesOf(rule, filter).filter((tie) => wanted.has(tie));

type Scope = { namespace?: string; labelSelector?: string; signal: AbortSignal };

export const createLiveWorld = (client: Pick<KubeClient, 'list'>): World => {
  const list = async <T extends KubeObject>(
    resource: ResourceType<T>,
    scope: Scope,
  ): Promise<T[]> => (await client.list(resource, { ...scope, pageSize: PAGE_SIZE })).items;

  /** Of each only what the change is about stays: a spec can have half a megabyte, and a tenant a thousand of them. */
  const tied = async (
    { namespace, purpose }: Pick<RuleChange, 'namespace'> & { purpose: string | undefined },
    kinds: readonly ResourceType<object>[],
    {
      tiesTo: read,
      signal,
    }: {
      tiesTo: (rule: RuleObject, filter: unknown) => string[];
      signal: AbortSignal;
    },
  ): Promise<KeptRule[]> => {
    const labelSelector = purpose === undefined ? PURPOSE_LABEL : `${PURPOSE_LABEL}=${purpose}`;
    const scope = { namespace, labelSelector, signal };
    const schema = objectSchema.transform((object): KeptRule => {
      const filter = filterOf(object);
      const ties = read(object, filter);
      return { ...identified(object), revision: '', ties, shape: undefined, filter };
    });
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
    rules: ({ change, kinds }, signal) =>
      tied(change, kinds, { tiesTo: (rule, filter) => tiesTo(rule, change, filter), signal }),

    filters: async (change, signal) => {
      const wanted = new Set(filtersToLookUp(change));
      if (wanted.size === 0) return [];
      const filtering = kinds.filter(({ kind }) => isFiltering(kind));
      const found = await tied(change, filtering, { tiesTo: tiesAmong(wanted), signal });
      return found.length > MAX_FILTERS ? [] : found;
    },

    links: async (change, signal) => {
      const wanted = new Set(linksToLookUp(change));
      if (wanted.size === 0) return [];
      const all = { namespace: change.namespace, purpose: undefined };
      return tied(all, [change.kind], { tiesTo: tiesAmong(wanted), signal });
    },

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
