/**
 * Whether a pod that is about to be made waits behind the gate of roll-outs: only one of a
 * CNFDeployment's new set does, while another set of it serves. First pods, and those in the place
 * of lost ones, wait for no coordinator. In doubt there is no gate; a pod for which the answers do
 * not come in time is refused, and its ReplicaSet makes it again.
 */
import type { KubeClient } from '#shared/kube/client.ts';
import { identityOf, type KubeObject, type ResourceType } from '#shared/kube/objects.ts';
import { find } from '#shared/kube/owned.ts';
import { cnfDeploymentResource } from '#shared/resources/other-kinds/cnf-deployment.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { controllerFactsOf, type OwnerRef } from '../../sources/workload.ts';
import { fleetPods, HASH_LABEL, isLive, setOf } from '../../controllers/fleet/apps.ts';
import type { AdmissionRequest } from '../review.ts';
import { FEW_PAGES } from '../live-facts.ts';
import type { CnfLookups } from './lookups.ts';

export type GateDeps = {
  client: Pick<KubeClient, 'get' | 'list'>;
  lookups: Pick<CnfLookups, 'rootOf'>;
  log: Logger;
};

/**
 * True: the pod of the request waits. Each answer is read from the API server.
 * @throws the signal's reason when it aborts
 */
export type Gates = (request: AdmissionRequest, signal: AbortSignal) => Promise<boolean>;

/** A user with the right to write pods gives them any label and size: no more is kept of them. */
const podsOfSet: ResourceType<KubeObject & { isLive: boolean }> = {
  ...fleetPods,
  schema: fleetPods.schema.transform((pod) => ({ ...identityOf(pod), isLive: isLive(pod) })),
};

export const createGates = ({ client, lookups, log }: GateDeps): Gates => {
  const waits = async (
    { namespace, set, owner }: { namespace: string; set: string; owner: OwnerRef },
    signal: AbortSignal,
  ): Promise<boolean> => {
    const root = await lookups.rootOf(namespace, owner, signal);
    if (root.kind !== cnfDeploymentResource.kind) return false;
    const place = { namespace, name: root.name };
    const cnf = await find(client, cnfDeploymentResource, place, { signal });
    if (cnf?.metadata.uid !== root.uid || cnf?.spec.strategy !== 'RollingUpdate') return false;
    const current = cnf.status?.currentRevision;
    if (current === undefined || current === set) return false;
    const labelSelector = `${HASH_LABEL}=${current}`;
    const selection = { namespace, labelSelector, ...FEW_PAGES, signal };
    const { items, isPartial } = await client.list(podsOfSet, selection);
    // A gate that is not needed is opened at once; behind what was read there may be a live pod.
    return isPartial === true || items.some((pod) => pod.isLive);
  };
  return async ({ namespace, object }, signal) => {
    const { controller: owner } = controllerFactsOf(object);
    const set = object ? setOf(object) : '';
    if (owner?.kind !== 'ReplicaSet' || set === '') return false;
    try {
      return await waits({ namespace, set, owner }, signal);
    } catch (err) {
      signal.throwIfAborted();
      log.warn({ err, namespace }, 'failed to read of which set a pod is, giving it no gate');
      return false;
    }
  };
};
