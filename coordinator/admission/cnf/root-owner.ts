/**
 * Which CNF a pod or workload belongs to: the object at the top of its chain of controllers. A
 * Deployment's pods during a roll-out, or the workloads of one operator, are one CNF.
 */
import type { KubeClient } from '#shared/kube/client.ts';
import { isForbidden, isNotFound } from '#shared/kube/errors.ts';
import type { ResourceType } from '#shared/kube/objects.ts';
import type { Labels } from '#shared/kube/selector.ts';
import {
  controllerFactsOf,
  replicaSets,
  workloadResources,
  type OwnerRef,
} from '../../sources/workload.ts';

/** `orphan`: of a ReplicaSet, its labels. */
export type Root = OwnerRef & { orphan?: Labels };

export type RootOwners = {
  /**
   * The top of the chain that begins with this controller. Undefined when it is gone or being
   * deleted: then it is no CNF any more.
   * @throws KubeError
   */
  of: (namespace: string, controller: OwnerRef, signal: AbortSignal) => Promise<Root | undefined>;
};

/** pod -> ReplicaSet -> Deployment -> something of an operator: longer chains do not occur. */
const MAX_STEPS = 5;

export const createRootOwners = (client: Pick<KubeClient, 'get'>): RootOwners => ({
  of: async (namespace, controller, signal) => {
    let owner = controller;
    for (let step = 0; step < MAX_STEPS; step += 1) {
      const resource = resourceOf(owner);
      // A kind of others: we have no right to read it, and need none.
      if (resource === undefined) return owner;
      const object = await client
        .get<{ metadata: { uid?: string; labels?: Labels } }>(
          resource,
          { namespace, name: owner.name },
          { signal },
        )
        .catch((error: unknown) => {
          if (isNotFound(error)) return undefined;
          if (isForbidden(error)) return 'unknown';
          throw error;
        });
      if (object === 'unknown') return owner;
      if (object === undefined || object.metadata.uid !== owner.uid) return undefined;
      const { controller: next, deleting } = controllerFactsOf(object);
      if (deleting) return undefined;
      if (next === undefined)
        return resource === replicaSets
          ? { ...owner, orphan: object.metadata.labels ?? {} }
          : owner;
      owner = next;
    }
    return owner;
  },
});

const resourceOf = ({ apiVersion, kind }: OwnerRef): ResourceType | undefined =>
  [replicaSets, ...workloadResources].find(
    (resource) => resource.kind === kind && apiVersion === `${resource.group}/${resource.version}`,
  );
