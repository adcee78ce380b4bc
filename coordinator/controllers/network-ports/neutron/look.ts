/** One look at a network in Neutron: what it gives, and which ports are there. */
import { isDeepStrictEqual } from 'node:util';
import { PAGE_SIZE, type KubeClient } from '#shared/kube/client.ts';
import type { Outcome } from '#shared/kube/controller.ts';
import { networkPortResource } from '#shared/resources/other-kinds/network-port.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { isAbsent } from '../../../neutron/errors.ts';
import { uidIn } from '../../../neutron/names.ts';
import type { MadePort, NeutronPorts } from '../../../neutron/ports.ts';
import type { PortSources } from '../sources.ts';
import type { KnownInNeutron } from './known.ts';
import { planInNeutron, type FoundNetwork } from './plan.ts';
import { sweepOf } from './sweep.ts';

type Options = {
  calls: NeutronPorts;
  client: KubeClient;
  clock: Pick<Clock, 'monotonic'>;
  known: KnownInNeutron;
  log: Logger;
  sources: PortSources;
  resyncMs: number;
  /** Its status may be another. */
  onNetwork: (name: string) => void;
};

/** So many looks in a row have to find a port without a NetworkPort, before it is deleted. */
const LOOKS_BEFORE_SWEEP = 10;

/** `cluster`: its mark. @throws NeutronError */
export type Look = (name: string, cluster: string, signal: AbortSignal) => Promise<Outcome>;

export const createLook = (options: Options): Look => {
  const { calls, client, clock, known, log, onNetwork, resyncMs, sources } = options;

  const find = async (id: string, signal: AbortSignal): Promise<FoundNetwork> => {
    const project = await calls.project();
    try {
      const network = await calls.network(id, signal);
      return { project, network, subnets: await calls.subnets(id, signal) };
    } catch (error) {
      if (isAbsent(error)) return { project, network: undefined, subnets: [] };
      throw error;
    }
  };

  const sweep = async (
    name: string,
    { id, cluster, signal }: { id: string; cluster: string; signal: AbortSignal },
  ): Promise<void> => {
    const listed = await calls.portsWhere({ network: id }, signal);
    const { held, missing, remove, seen } = sweepOf({
      cluster,
      listed,
      objects: sources.allPorts(),
      network: name,
      now: clock.monotonic(),
      seen: known.seen.get(name) ?? new Map(),
      afterMs: LOOKS_BEFORE_SWEEP * resyncMs,
    });
    known.seen.set(name, seen);
    for (const { metadata } of missing) known.missing.add(metadata.uid);
    if (held === undefined) known.held.delete(name);
    else known.held.set(name, held);
    if (remove.length > 0) await removeAll(remove, cluster, signal);
  };

  const removeAll = async (
    ports: readonly MadePort[],
    cluster: string,
    signal: AbortSignal,
  ): Promise<void> => {
    // No watch is trusted with this.
    const { items } = await client.list(networkPortResource, { pageSize: PAGE_SIZE, signal });
    const uids = new Set(items.map(({ metadata }) => metadata.uid));
    for (const { id, name } of ports) {
      if (uids.has(uidIn(cluster, name) ?? '')) continue;
      log.warn({ port: id, name }, 'deleting a port without a NetworkPort');
      await calls.deletePort(id, signal);
    }
  };

  return async (name, cluster, signal) => {
    const network = known.networkNamed(name);
    const { neutron } = network?.spec ?? {};
    if (network === undefined || neutron === undefined) {
      for (const byName of [known.held, known.seen]) byName.delete(name);
      return 'done';
    }
    const { uid } = network.metadata;
    const plan = planInNeutron(neutron, await find(neutron.network, signal));
    if (!isDeepStrictEqual(known.plans.get(uid), { neutron, plan })) {
      known.plans.set(uid, { neutron, plan });
      sources.forgetPlans();
      sources.markUnclaimed(name);
    }
    if (!('problem' in plan)) await sweep(name, { id: neutron.network, cluster, signal });
    onNetwork(name);
    return { againInMs: resyncMs };
  };
};
