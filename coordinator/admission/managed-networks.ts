/**
 * What CEL cannot say of ManagedNetworks: ranges outside of their subnet, offsets that differ, and
 * another network that has an address or a name of it.
 */
import type { KubeClient } from '#shared/kube/client.ts';
import {
  managedNetworkResource,
  managedNetworkSpec,
} from '#shared/resources/other-kinds/managed-network.ts';
import { isDeepStrictEqual } from 'node:util';
import { conflictBetween, planOf } from '../controllers/network-ports/subnets.ts';
import { denied } from './decide.ts';
import { allowed, type AdmissionRequest, type ReviewVerdict } from './review.ts';

type Webhook = (request: AdmissionRequest, signal: AbortSignal) => Promise<ReviewVerdict>;

/** The webhook of all kinds that people write: `others` is asked of the others. */
export const managedNetworksOr =
  (client: Pick<KubeClient, 'list'>, others: Webhook): Webhook =>
  (request, signal) =>
    isOfManagedNetwork(request) ? reviewed(client, request, signal) : others(request, signal);

const isOfManagedNetwork = ({ resource }: AdmissionRequest): boolean =>
  resource.group === managedNetworkResource.group &&
  resource.resource === managedNetworkResource.plural;

const reviewed = async (
  client: Pick<KubeClient, 'list'>,
  { object, oldObject, operation }: AdmissionRequest,
  signal: AbortSignal,
): Promise<ReviewVerdict> => {
  if (operation === 'DELETE' || !object) return allowed;
  if (isDeepStrictEqual(object['spec'], oldObject?.['spec'])) return allowed;
  const { data: spec } = managedNetworkSpec.safeParse(object['spec']);
  // The CRD refuses it.
  if (spec === undefined) return allowed;
  // What is wrong with a network of Neutron is known when Neutron is asked: its status says it.
  const plan = spec.provider === 'neutron' ? undefined : planOf(spec);
  if (plan && 'problem' in plan) return refused(plan.problem);
  const { items } = await client.list(managedNetworkResource, { signal });
  for (const other of items) {
    if (other.metadata.name === object.metadata.name) continue;
    const conflict = conflictBetween(spec, other.spec);
    if (conflict !== undefined)
      return refused(`${conflict.replace(/ of it$/, '')} of ManagedNetwork ${other.metadata.name}`);
  }
  return allowed;
};

const refused = (message: string): ReviewVerdict => denied({ reason: 'InvalidSpec' }, message);
