/**
 * Facts from watches, so that a burst of rules costs the API server nothing. Owns the watches of
 * RBAC objects; rules, workloads and pods are watched for other reasons, too, and passed in.
 */
import type { KubeClient } from '#shared/kube/client.ts';
import type { KubeObject, RuleObject } from '#shared/kube/objects.ts';
import { Reflector } from '#shared/kube/informer/reflector.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { grantsOf, keptRbac } from './buckets/bindings.ts';
import type { NetworkTexts } from '#shared/compile/networks.ts';
import { networkNames, purposesAmong } from './cnfs.ts';
import { MAX_FILTERS } from './checks/check.ts';
import { missingReferences } from './checks/references.ts';
import { filtersToLookUp, linksToLookUp, keysToLookUp } from './index-keys.ts';
import type { FactSource } from './fact-source.ts';

export type CachedFactsDeps = {
  client: KubeClient;
  /**
   * Rule CRs that have one of these index keys, or are of one `namespace/purpose`; none where there
   * are more than `most`.
   */
  rules: (indexKeys: readonly string[], most?: number) => readonly RuleObject[];
  /** What a purpose's workloads and pods say of networks. */
  networkAnnotations: (namespace: string, purpose: string) => readonly (NetworkTexts | undefined)[];
  /** Those of a namespace's workloads and pods. */
  purposes: (namespace: string) => readonly (string | undefined)[];
  /** A RoleBinding came, went or changed. */
  onBinding: (binding: { namespace: string; name: string }) => void;
  /** Whether what is passed in is complete. */
  isComplete: () => boolean;
  clock: Clock;
  log: Logger;
};

export type CachedFacts = {
  /** Undefined until every watch has been listed once. */
  source: () => FactSource | undefined;
  /** Namespaces that have a RoleBinding of one of these names. */
  boundTo: (names: readonly string[]) => string[];
  run: (signal: AbortSignal) => Promise<void>;
};

export const createCachedFacts = (deps: CachedFactsDeps): CachedFacts => {
  const { client, clock, log } = deps;
  const common = { client, clock, log, indices: byNamespace };
  const ofBindings = {
    ...common,
    onEvent: ({ object }: { object: KubeObject }) => deps.onBinding(object.metadata),
  };
  const roles = new Reflector({ ...common, resource: keptRbac.roles });
  const clusterRoles = new Reflector({ ...common, resource: keptRbac.clusterRoles });
  const roleBindings = new Reflector({ ...ofBindings, resource: keptRbac.roleBindings });
  const clusterRoleBindings = new Reflector({
    ...ofBindings,
    resource: keptRbac.clusterRoleBindings,
  });
  const reflectors = [roles, clusterRoles, roleBindings, clusterRoleBindings];

  const source: FactSource = {
    rules: async ({ change }) => {
      const tied = deps.rules(keysToLookUp(change));
      const missing = missingReferences(change, { rules: tied });
      if (missing.length === 0) return tied;
      // What it refers to may be misspelt: the answer names those that there are.
      const asked = new Set(missing.map(({ kind }) => kind));
      const ofCnf = deps.rules([`${change.namespace}/${change.purpose}`]);
      return [...new Set([...tied, ...ofCnf.filter(({ kind }) => asked.has(kind))])];
    },
    filters: async (change) => deps.rules(filtersToLookUp(change), MAX_FILTERS),
    links: async (change) => deps.rules(linksToLookUp(change), MAX_FILTERS),
    networks: async ({ namespace, purpose }) =>
      networkNames(deps.networkAnnotations(namespace, purpose)),
    purposes: async ({ namespace }) => purposesAmong(deps.purposes(namespace)),
    grants: async (user, namespace) =>
      grantsOf(user, namespace, {
        roles: roles.store.by('namespace', namespace),
        roleBindings: roleBindings.store.by('namespace', namespace),
        clusterRoles: clusterRoles.store.list(),
        clusterRoleBindings: clusterRoleBindings.store.list(),
      }),
  };

  return {
    source: () =>
      deps.isComplete() && reflectors.every((reflector) => reflector.hasSynced())
        ? source
        : undefined,
    boundTo: (names) =>
      roleBindings.store
        .list()
        .flatMap(({ metadata }) => (names.includes(metadata.name) ? [metadata.namespace] : [])),
    run: async (signal) => {
      await Promise.all(reflectors.map((reflector) => reflector.run(signal)));
    },
  };
};

const byNamespace = { namespace: ({ metadata }: KubeObject) => [metadata.namespace] };
