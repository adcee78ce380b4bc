/**
 * Facts from the API server itself, as of the moment of asking. A review reads no more of them than
 * a bounded part, however many objects tenants have made: what is beyond, caches have soon.
 */
import { referencesOf } from '#shared/compile/check.ts';
import { PAGE_SIZE, type KubeClient, type List } from '#shared/kube/client.ts';
import { isNotFound } from '#shared/kube/errors.ts';
import type { KubeObject, ResourceType, RuleObject } from '#shared/kube/objects.ts';
import { PURPOSE_LABEL } from '#shared/names.ts';
import { listedPods, listedWorkloads } from '../sources/workload.ts';
import { grantsOf, rbacOf } from './buckets/bindings.ts';
import type { KeptRule } from '../sources/kept-rule.ts';
import type { NetworkTexts } from '#shared/compile/networks.ts';
import { networkNames } from './cnfs.ts';
import type { RuleChange } from './checks/check.ts';
import { confirmedRules, schemaFor } from './confirmed-rules.ts';
import type { LiveFacts } from './fact-source.ts';

type Scope = { namespace?: string; labelSelector?: string; signal: AbortSignal };

const readable: readonly ResourceType<{ networks: NetworkTexts | undefined }>[] = [
  listedPods,
  ...listedWorkloads.map((resource) => ({
    ...resource,
    schema: resource.schema.transform(({ workload }) => workload),
  })),
];

/** A workload or pod of a CNF, as caches have it. */
export type KnownCnf = { kind: string; name: string; networks: NetworkTexts | undefined };

/** Pages of each list of a review: 848 objects, fewer where they are large. */
const MAX_PAGES = 8;
export const FEW_PAGES = { pageSize: PAGE_SIZE, maxPages: MAX_PAGES };
/** Workloads and pods of a CNF that are read again. */
const MAX_READ_AGAIN = 8;

/** `cnfs`: those of a purpose, workloads first; none while caches are incomplete. */
export const createLiveFacts = (
  client: Pick<KubeClient, 'get' | 'list'>,
  cnfs: (namespace: string, purpose: string) => readonly KnownCnf[],
): LiveFacts => {
  const bounded = <T extends KubeObject>(
    resource: ResourceType<T>,
    scope: Scope,
  ): Promise<List<T>> => client.list(resource, { ...scope, ...FEW_PAGES });
  const list = async <T extends KubeObject>(
    resource: ResourceType<T>,
    scope: Scope,
  ): Promise<T[]> => (await bounded(resource, scope)).items;

  const tied = async (
    change: RuleChange,
    kinds: readonly ResourceType<object>[],
    signal: AbortSignal,
  ): Promise<readonly RuleObject[]> => {
    const { namespace, purpose } = change;
    const scope = { namespace, labelSelector: `${PURPOSE_LABEL}=${purpose}`, signal };
    const schema = schemaFor(change);
    const lists = await Promise.all(
      kinds.map((kind) =>
        bounded({ ...kind, schema }, scope).catch((error: unknown): List<KeptRule> => {
          // A kind whose CRD is not installed has no objects.
          if (isNotFound(error)) return { items: [], resourceVersion: '' };
          throw error;
        }),
      ),
    );
    const found = lists.flatMap(({ items }) => items);
    if (lists.some(({ isPartial }) => isPartial))
      return confirmedRules(client, change, found, signal);
    // What it refers to may be misspelt: the answer names those that there are.
    const asked = new Set((change.after ? referencesOf(change.after) : []).map((one) => one.kind));
    return found.filter(({ kind, indexKeys }) => indexKeys.length > 0 || asked.has(kind));
  };

  /** Nothing of one that is gone. */
  const networksOf = async (
    { kind, name }: KnownCnf,
    namespace: string,
    signal: AbortSignal,
  ): Promise<NetworkTexts | undefined> => {
    const resource = readable.find((one) => one.kind === kind);
    if (resource === undefined) return undefined;
    try {
      return (await client.get(resource, { namespace, name }, { signal })).networks;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  };

  return {
    rules: ({ change, kinds, cached }, signal) =>
      cached ? confirmedRules(client, change, cached, signal) : tied(change, kinds, signal),

    networks: async ({ namespace, purpose }, signal) => {
      const known = cnfs(namespace, purpose);
      const again = known.slice(0, MAX_READ_AGAIN);
      return networkNames([
        ...(await Promise.all(again.map((one) => networksOf(one, namespace, signal)))),
        ...known.slice(MAX_READ_AGAIN).map(({ networks }) => networks),
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
