/** What the CNF webhooks ask the API server: CNFs are made rarely enough to look each time. */
import type { KubeClient } from '#shared/kube/client.ts';
import { objectSchema, type KubeObject, type ResourceType } from '#shared/kube/objects.ts';
import { DEFAULT_READS_KEYS_ANNOTATION, PURPOSE_LABEL } from '#shared/names.ts';
import {
  controllerFactsOf,
  podResource,
  workloadOf,
  workloadResources,
  type OwnerRef,
} from '../../cnf/workload.ts';
import { createRootOwners } from './root-owner.ts';
import { servingWorkloads, type CnfIdentity } from './second-cnf.ts';

export type CnfLookups = {
  /** Who serves the purpose now: labelled workloads and controllers of labelled pods, each by its root owner. @throws KubeError */
  cnfs: (namespace: string, purpose: string, signal: AbortSignal) => Promise<CnfIdentity[]>;
  /** @throws KubeError */
  rootOf: (namespace: string, owner: OwnerRef, signal: AbortSignal) => Promise<CnfIdentity>;
  /** Whether service account `default` of the namespace may read the kinds that hold keys. @throws KubeError */
  defaultReadsKeys: (namespace: string, signal: AbortSignal) => Promise<boolean>;
};

export const namespaces: ResourceType = {
  group: '',
  version: 'v1',
  plural: 'namespaces',
  kind: 'Namespace',
  schema: objectSchema,
};

export const createCnfLookups = (client: Pick<KubeClient, 'get' | 'list'>): CnfLookups => {
  const roots = createRootOwners(client);

  const labelled = async (
    resource: ResourceType,
    namespace: string,
    purpose: string,
    signal: AbortSignal,
  ): Promise<KubeObject[]> => {
    const labelSelector = `${PURPOSE_LABEL}=${purpose}`;
    return (await client.list(resource, { namespace, labelSelector, signal })).items;
  };

  return {
    rootOf: async (namespace, owner, signal) => (await roots.of(namespace, owner, signal)) ?? owner,

    cnfs: async (namespace, purpose, signal) => {
      const lists = await Promise.all(
        [...workloadResources, podResource].map((resource) =>
          labelled(resource, namespace, purpose, signal),
        ),
      );
      const podList = lists.pop() ?? [];
      const workloads = servingWorkloads(lists.flat().map(workloadOf), namespace, purpose);
      const owners = [
        ...workloads.map(
          ({ kind, name, uid, controller }) =>
            controller ?? { apiVersion: 'apps/v1', kind, name, uid },
        ),
        ...podList.flatMap((pod) => controllerOfLive(pod)),
      ];
      const distinct = new Map(owners.map((owner) => [owner.uid, owner]));
      const found = await Promise.all(
        [...distinct.values()].map((owner) => roots.of(namespace, owner, signal)),
      );
      return found.filter((root) => root !== undefined);
    },

    defaultReadsKeys: async (namespace, signal) => {
      const { metadata } = await client.get(namespaces, { name: namespace }, { signal });
      return metadata.annotations?.[DEFAULT_READS_KEYS_ANNOTATION] === 'true';
    },
  };
};

/** Bare pods have no controller, and are nobody's CNF. */
const controllerOfLive = (pod: KubeObject): OwnerRef[] => {
  const { controller, deleting } = controllerFactsOf(pod);
  return controller === undefined || deleting ? [] : [controller];
};
