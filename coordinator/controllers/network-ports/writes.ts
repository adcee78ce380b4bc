/** The writes of NetworkPorts and of pods that get them: each hits what was judged, or nothing. */
import type { KubeClient } from '#shared/kube/client.ts';
import { isForbidden, isNotFound, isOutdated } from '#shared/kube/errors.ts';
import { find, keep } from '#shared/kube/owned.ts';
import { MANAGED_BY, NETWORK_LABEL, NETWORK_PORTS_ANNOTATION, POOL_LABEL } from '#shared/names.ts';
import {
  networkPortResource,
  type NetworkPort,
  type NetworkPortSpec,
} from '#shared/resources/other-kinds/network-port.ts';
import { annotationsFor, type Claim } from './decide.ts';
import { otherGates, portPods, type PortPod } from './objects.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { PortSources } from './sources.ts';
import { portName } from './subnets.ts';

export type PortWrites = {
  /** Each is false when another look is needed, on what is known then. */
  claim: (claim: Claim, signal: AbortSignal) => Promise<boolean>;
  create: (spec: NetworkPortSpec, signal: AbortSignal) => Promise<boolean>;
  /** To a pool. */
  add: (
    spec: Omit<NetworkPortSpec, 'claim'>,
    pool: string,
    signal: AbortSignal,
  ) => Promise<boolean>;
  /** Its pool has it again, as before the claim. */
  takeBack: (port: NetworkPort, signal: AbortSignal) => Promise<boolean>;
  /** Its pod runs there. */
  note: (port: NetworkPort, node: string, signal: AbortSignal) => Promise<boolean>;
  /** Its port in Neutron is there. */
  found: (
    port: NetworkPort,
    found: Pick<NetworkPortSpec, 'addresses'> & {
      status: { portID: string; gateway: readonly string[]; mtu: number | undefined };
    },
    signal: AbortSignal,
  ) => Promise<boolean>;
  /** No pod has it since now. */
  leave: (
    port: NetworkPort,
    since: 'keptSince' | 'releasedAt',
    signal: AbortSignal,
  ) => Promise<boolean>;
  remove: (port: NetworkPort, signal: AbortSignal) => Promise<boolean>;
  /** Addresses, names and the gate in one write. @throws KubeError, also of a conflict */
  open: (
    pod: PortPod,
    claims: readonly Claim[],
    signal: AbortSignal,
  ) => Promise<'opened' | 'gone' | 'forbidden'>;
};

const UNKEPT = { keeper: null, before: null };
const NO_NODE = { releasedAt: null, keptSince: null, node: null, active: false };

export const createPortWrites = (
  client: KubeClient,
  sources: PortSources,
  clock: Pick<Clock, 'now'>,
): PortWrites => {
  /** What is there now, whatever the watch has shown. */
  const lookAgain = async (name: string, signal: AbortSignal): Promise<false> => {
    sources.forget(name);
    const there = await find(client, networkPortResource, { name }, { signal });
    if (there) sources.note(there);
    return false;
  };

  const make = async (
    spec: Omit<NetworkPortSpec, 'claim'>,
    more: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<boolean> => {
    const { network } = spec;
    const name = portName(spec);
    const metadata = { name, labels: { ...MANAGED_BY, [NETWORK_LABEL]: network, ...more } };
    const desired = { metadata, fields: { spec, status: firstStatus(spec, sources) } };
    const owned = { client, resource: networkPortResource, signal };
    const { object } = await keep<NetworkPort>(owned, desired, undefined);
    // Another pod has it, or an earlier call of ours whose answer was lost.
    if (object === undefined) return await lookAgain(name, signal);
    sources.note(object);
    return true;
  };

  const change = async (
    { metadata }: NetworkPort,
    fields: object,
    signal: AbortSignal,
  ): Promise<boolean> => {
    const { name, uid, resourceVersion } = metadata;
    const body = { metadata: { uid, resourceVersion }, ...fields };
    const patch = { type: 'merge', body } as const;
    try {
      sources.note(await client.patch(networkPortResource, { name }, { patch, signal }));
      return true;
    } catch (error) {
      if (isOutdated(error)) return await lookAgain(name, signal);
      throw error;
    }
  };

  const create: PortWrites['create'] = (spec, signal) => make(spec, {}, signal);

  return {
    create,
    add: (spec, pool, signal) => make(spec, { [POOL_LABEL]: pool }, signal),
    takeBack: (port, signal) => change(port, { spec: { claim: null }, status: NO_NODE }, signal),
    note: (port, node, signal) =>
      change(port, { status: { node, active: true, keptSince: null } }, signal),
    found: (port, { addresses, status }, signal) =>
      change(port, { spec: { addresses }, status }, signal),
    leave: (port, since, signal) => {
      const status = { ...NO_NODE, [since]: new Date(clock.now()).toISOString() };
      return change(port, { status }, signal);
    },
    claim: (claim, signal) => {
      const { spec, resting } = claim;
      const taken = { spec: { ...spec, claim: { ...UNKEPT, ...spec.claim } }, status: NO_NODE };
      return sources.reserve(claim, () =>
        resting ? change(resting, taken, signal) : create(spec, signal),
      );
    },
    remove: async (port, signal) => {
      const { name, uid, resourceVersion } = port.metadata;
      const preconditions = { uid, resourceVersion };
      const removal = sources.noteRemoval(port);
      try {
        await client.delete(networkPortResource, { name }, { preconditions, signal });
        return true;
      } catch (error) {
        removal.undo();
        if (isOutdated(error)) return await lookAgain(name, signal);
        throw error;
      }
    },
    open: async (pod, claims, signal) => {
      const { namespace, name, uid, resourceVersion } = pod.metadata;
      const { annotations, ports } = annotationsFor(pod.texts, claims);
      const names = { [NETWORK_PORTS_ANNOTATION]: JSON.stringify(ports) };
      const given = claims.length > 0 && { annotations: { ...annotations, ...names } };
      const body = {
        metadata: { uid, resourceVersion, ...given },
        spec: { schedulingGates: otherGates(pod) },
      };
      try {
        const patch = { type: 'merge', body } as const;
        await client.patch(portPods, { namespace, name }, { patch, answer: 'metadata', signal });
        return 'opened';
      } catch (error) {
        if (isNotFound(error)) return 'gone';
        if (isForbidden(error)) return 'forbidden';
        throw error;
      }
    },
  };
};

const firstStatus = (
  { network }: Pick<NetworkPortSpec, 'network'>,
  sources: PortSources,
): NetworkPort['status'] => {
  const { subnets = [], mtu } = sources.networks.store.byName('', network)?.spec ?? {};
  const gateway = subnets.flatMap((subnet) => subnet.gateway ?? []);
  return {
    active: false,
    ...(gateway.length > 0 && { gateway }),
    ...(mtu !== undefined && { mtu }),
  };
};
