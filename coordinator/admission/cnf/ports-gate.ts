/**
 * Whether a CNF pod that is about to be made waits for addresses: when it names a network that the
 * coordinator manages, and the coordinator may write them. Each answer is read from the API server:
 * a pod that starts without its gate would get whatever address its CNI has.
 */
import * as z from 'zod';
import { isAllowed } from '#shared/kube/access.ts';
import type { KubeClient } from '#shared/kube/client.ts';
import { isNotFound } from '#shared/kube/errors.ts';
import { PORTS_GATE, PREFIX } from '#shared/names.ts';
import {
  managedNetworkResource,
  type ManagedNetwork,
} from '#shared/resources/other-kinds/managed-network.ts';
import { asksIn } from '../../controllers/network-ports/asks.ts';
import { askTextsIn } from '../../controllers/network-ports/objects.ts';
import type { AdmissionRefusal } from '../refusals.ts';
import type { AdmissionRequest, JsonPatchOperation } from '../review.ts';

export type PortsGateDeps = { client: Pick<KubeClient, 'list' | 'create'> };

/** Empty: it waits for none. @throws KubeError */
export type PortsGate = (
  request: AdmissionRequest,
  signal: AbortSignal,
) => Promise<{ patch: JsonPatchOperation[] } | { refusal: AdmissionRefusal }>;

const NONE = { patch: [] };
const ASSIGN = { group: `permissions.${PREFIX}`, resource: 'portaddresses', verb: 'assign' };

const specSchema = z.looseObject({
  nodeName: z.string().nullish(),
  schedulingGates: z.array(z.looseObject({ name: z.string() })).nullish(),
});

/** None where the kind is not served. @throws KubeError */
export const managedNetworks = async (
  client: Pick<KubeClient, 'list'>,
  signal: AbortSignal,
): Promise<ManagedNetwork[]> => {
  try {
    return (await client.list(managedNetworkResource, { signal })).items;
  } catch (error) {
    if (isNotFound(error)) return [];
    throw error;
  }
};

export const createPortsGate =
  ({ client }: PortsGateDeps): PortsGate =>
  async ({ namespace, object }, signal) => {
    const texts = askTextsIn(object?.metadata.annotations ?? {});
    if (texts.nfn === undefined && texts.multus === undefined) return NONE;
    const networks = await managedNetworks(client, signal);
    const names = new Set(networks.flatMap(({ spec }) => spec.names));
    if (names.size === 0) return NONE;
    const read = asksIn(texts, namespace);
    if ('problem' in read) {
      const message = `metadata.annotations: ${read.problem}`;
      return { refusal: { reason: 'InvalidSpec', message } };
    }
    if (!read.asks.some(({ name }) => names.has(name))) return NONE;
    const gates = gatesWithOurs(object?.['spec']);
    if (gates === undefined || !(await isAllowed(client, { ...ASSIGN, namespace }, signal)))
      return NONE;
    return { patch: [{ op: 'add', path: '/spec/schedulingGates', value: gates }] };
  };

/** Undefined: it has ours, or a node, with which the API server takes none. */
const gatesWithOurs = (podSpec: unknown): { name: string }[] | undefined => {
  const { nodeName, schedulingGates } = specSchema.parse(podSpec);
  const gates = schedulingGates ?? [];
  const isLeft = Boolean(nodeName) || gates.some(({ name }) => name === PORTS_GATE);
  return isLeft ? undefined : [...gates, { name: PORTS_GATE }];
};
