/** What the CNF webhooks ask the API server: CNFs are made rarely enough to look each time. */
import type { KubeClient } from '#shared/kube/client.ts';
import type { KubeObject, ResourceType } from '#shared/kube/objects.ts';
import { DEFAULT_READS_KEYS_ANNOTATION, PURPOSE_LABEL } from '#shared/names.ts';
import {
  listedPods,
  listedWorkloads,
  namespaces,
  type ControllerFacts,
  type OwnerRef,
} from '../../sources/workload.ts';
import { FEW_PAGES } from '../live-facts.ts';
import { createRootOwners } from './root-owner.ts';
import { servingWorkloads, type CnfIdentity } from './second-cnf.ts';

export type CnfLookups = {
  /**
   * Who serves the purpose now: labelled workloads and controllers of labelled pods, each by its
   * root owner. @throws KubeError
   */
  cnfs: (namespace: string, purpose: string, signal: AbortSignal) => Promise<CnfIdentity[]>;
  /** @throws KubeError */
  rootOf: (namespace: string, owner: OwnerRef, signal: AbortSignal) => Promise<CnfIdentity>;
  /** Whether the namespace's account `default` reads the kinds that hold keys. @throws KubeError */
  defaultReadsKeys: (namespace: string, signal: AbortSignal) => Promise<boolean>;
};

/** Owners of one purpose's pods that are read: a roll-out has two. */
const MAX_OWNERS = 32;

export const createCnfLookups = (client: Pick<KubeClient, 'get' | 'list'>): CnfLookups => {
  const roots = createRootOwners(client);

  const labelled = async <T extends KubeObject>(
    resource: ResourceType<T>,
    namespace: string,
    purpose: string,
    signal: AbortSignal,
  ): Promise<T[]> => {
    const labelSelector = `${PURPOSE_LABEL}=${purpose}`;
    const selection = { namespace, labelSelector, ...FEW_PAGES, signal };
    return (await client.list(resource, selection)).items;
  };

  return {
    rootOf: async (namespace, owner, signal) => (await roots.of(namespace, owner, signal)) ?? owner,

    cnfs: async (namespace, purpose, signal) => {
      const [pods, ...lists] = await Promise.all([
        labelled(listedPods, namespace, purpose, signal),
        ...listedWorkloads.map((resource) => labelled(resource, namespace, purpose, signal)),
      ]);
      const listed = lists.flat().map(({ workload }) => workload);
      const workloads = servingWorkloads(listed, namespace, purpose);
      const owners = [
        ...workloads.map(
          ({ kind, name, uid, controller }) =>
            controller ?? { apiVersion: 'apps/v1', kind, name, uid },
        ),
        ...pods.flatMap(controllerOfLive),
      ];
      const distinct = new Map(owners.map((owner) => [owner.uid, owner]));
      const found = await Promise.all(
        [...distinct.values()]
          .slice(0, MAX_OWNERS)
          .map((owner) => roots.of(namespace, owner, signal)),
      );
      return found.filter((root) => root !== undefined);
    },

    defaultReadsKeys: async (namespace, signal) => {
      const { metadata } = await client.get(namespaces, { name: namespace }, { signal });
      return metadata.annotations?.[DEFAULT_READS_KEYS_ANNOTATION] === 'true';
    },
  };
};

/** Bare pods have no controller, and belong to no CNF. */
const controllerOfLive = ({ controller, deleting }: ControllerFacts): OwnerRef[] =>
  controller === undefined || deleting ? [] : [controller];
