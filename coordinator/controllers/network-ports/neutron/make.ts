/** The ports of a pod's claims, made in Neutron, and those of claims that have rested, deleted. */
import { OVERTAKEN, type Outcome } from '#shared/kube/controller.ts';
import { isUnclaimed, type NetworkPort } from '#shared/resources/other-kinds/network-port.ts';
import type { Logger } from '#shared/runtime/log.ts';
import type { MadePort, NeutronPorts } from '../../../neutron/ports.ts';
import { isReleased, poolOf } from '../claims.ts';
import type { Announcer } from '../events.ts';
import { isGated } from '../objects.ts';
import type { PortSources } from '../sources.ts';
import type { PortWrites } from '../writes.ts';
import { createAll, ensurePort, removePort } from './ensure.ts';
import { AGAIN_MS, type KnownInNeutron } from './known.ts';
import { addressesIn, gatewaysOf } from './plan.ts';
import type { NeutronPlan } from '../subnets.ts';
import type { Refusal } from './refusal.ts';

export type MakeOptions = {
  calls: NeutronPorts;
  known: KnownInNeutron;
  sources: PortSources;
  writes: PortWrites;
  announcer: Announcer;
  log: Logger;
  /** The status of the network may be another. */
  onNetwork: (name: string) => void;
  /** It may go on. */
  onPod: (uid: string) => void;
  /** NetworkPorts have other ports now. */
  onPorts: () => void;
  /** What a network gives may be another. */
  onDoubt: (network: string) => void;
  /** A NetworkPort of it is gone. */
  onPool: (name: string) => void;
};

/** `cluster`: its mark. All throw NeutronError. */
export type Maker = {
  /** All or none before it ends, since the next pod's come after it. `uid`: of the pod. */
  make: (uid: string, cluster: string, signal: AbortSignal) => Promise<Outcome>;
  /** Undefined: it is there. */
  makeOne: (
    port: NetworkPort,
    cluster: string,
    signal: AbortSignal,
  ) => Promise<Outcome | undefined>;
  /** By one call, which must not be repeated: all, or none. */
  makeAll: (
    ports: readonly NetworkPort[],
    of: { cluster: string; plan: NeutronPlan; signal: AbortSignal },
  ) => Promise<void>;
  remove: (name: string, cluster: string, signal: AbortSignal) => Promise<Outcome>;
};

export const createMaker = (options: MakeOptions): Maker => {
  const { announcer, calls, known, log, onNetwork, onPod, sources, writes } = options;

  const note = async (
    port: NetworkPort,
    made: MadePort,
    { plan, signal }: { plan: NeutronPlan; signal: AbortSignal },
  ): Promise<boolean> => {
    const { network, claim } = port.spec;
    known.noteRoom(network);
    known.refused.delete(port.metadata.uid);
    const status = { portID: made.id, gateway: gatewaysOf(plan), mtu: plan.mtu };
    const found = { addresses: addressesIn(plan, made), status };
    if (!(await writes.found(port, found, signal))) return false;
    known.missing.delete(port.metadata.uid);
    onPod(claim.uid);
    onNetwork(network);
    options.onPorts();
    return true;
  };

  const refuse = (port: NetworkPort, { full, reason, message }: Refusal): Outcome => {
    const { network, claim } = port.spec;
    known.refused.set(port.metadata.uid, { reason, message, networks: [network] });
    if (full) known.noteFull(full, network, message);
    if (reason === 'NetworkNotReady') options.onDoubt(network);
    log.info({ port: port.metadata.name, reason, message }, 'Neutron refuses a port');
    const pod = sources.pods.store.byUid(claim.uid);
    if (pod && isGated(pod)) onPod(claim.uid);
    else if (!isUnclaimed(port)) announcer.notMade(port, message);
    onNetwork(network);
    return { failed: reason, againInMs: AGAIN_MS };
  };

  const makeOne: Maker['makeOne'] = async (port, cluster, signal) => {
    const network = known.networkNamed(port.spec.network);
    const plan = network && sources.planFor(network);
    // Its pods are looked at again when the network has been read.
    if (!plan || 'problem' in plan || !plan.neutron) return { failed: 'NetworkNotReady' };
    const made = await ensurePort(port, plan.neutron, {
      calls,
      cluster,
      isKnown: (of) => sources.ports.store.byUid(of) !== undefined,
      signal,
    });
    if ('reason' in made) return refuse(port, made);
    return (await note(port, made, { plan: plan.neutron, signal })) ? undefined : OVERTAKEN;
  };

  return {
    make: async (uid, cluster, signal) => {
      for (const { metadata } of sources.portsOfPod(uid)) {
        // Until it is written a claim has no uid, and its port would have no name.
        const port = sources.port(metadata.name);
        if (!port || !known.isToBeMade(port)) continue;
        const outcome = await makeOne(port, cluster, signal);
        if (outcome) return outcome;
      }
      return 'done';
    },
    makeOne,
    makeAll: async (ports, { cluster, plan, signal }) => {
      for (const one of await createAll(ports, plan, { calls, cluster, signal })) {
        const port = ports.find(({ spec }) => spec.mac === one.mac_address);
        if (!port || (await note(port, one, { plan, signal }))) continue;
        // Its NetworkPort was deleted while Neutron made it.
        if (!sources.port(port.metadata.name)) await calls.deletePort(one.id, signal);
      }
    },
    remove: async (name, cluster, signal) => {
      const lost = sources.lost(name);
      const port = lost ?? sources.port(name);
      if (!port || !(lost ? isUnclaimed(lost) : isReleased(port))) return 'done';
      const { network } = port.spec;
      await removePort(port, { calls, cluster, signal });
      known.refused.delete(port.metadata.uid);
      if (lost) sources.settle(name);
      else if (!(await writes.remove(port, signal))) return OVERTAKEN;
      known.noteRoom(network);
      const pool = poolOf(port);
      if (pool !== undefined) options.onPool(pool);
      sources.markWaiting();
      return 'done';
    },
  };
};
