/**
 * Watches NetworkPortPools; owns their statuses, and makes the NetworkPorts that they lack, with
 * their ports in Neutron.
 */
import { isDeepStrictEqual } from 'node:util';
import type { KubeClient } from '#shared/kube/client.ts';
import { createController, type ControllerDeps } from '#shared/kube/controller.ts';
import { replaceStatus } from '#shared/kube/fenced.ts';
import { Reflector } from '#shared/kube/informer/reflector.ts';
import { isAnswered } from '#shared/kube/informer/watch-state.ts';
import {
  networkPortPoolResource,
  type NetworkPortPool,
} from '#shared/resources/other-kinds/network-port-pool.ts';
import type { ManagedNetwork } from '#shared/resources/other-kinds/managed-network.ts';
import type { NetworkPort } from '#shared/resources/other-kinds/network-port.ts';
import { poolOf } from '../claims.ts';
import type { PortSources } from '../sources.ts';
import type { NeutronPlan } from '../subnets.ts';
import type { PortWrites } from '../writes.ts';
import { createFiller, type Limit } from './fill.ts';
import type { KnownInNeutron } from './known.ts';
import type { Maker } from './make.ts';
import { isAsPlanned } from './plan.ts';
import { isWanted, poolStatusOf } from './pool.ts';

type Options = ControllerDeps & {
  client: KubeClient;
  sources: PortSources;
  writes: PortWrites;
  known: KnownInNeutron;
  maker: Maker;
  /** The mark of the cluster. */
  cluster: () => string | undefined;
  /** Whether the pool wants it may be another. */
  onPort: (name: string) => void;
};

export type Pools = {
  mark: (name: string) => void;
  /** Whether a NetworkPort without a claim stays. Undefined: that is not known yet. */
  wants: (port: NetworkPort) => boolean | undefined;
  run: (signal: AbortSignal) => Promise<void>;
};

const COALESCE_MS = 300;
/** A pool may wait minutes for the answer to its bulk. */
const CONCURRENCY = 4;

export const createPools = (options: Options): Pools => {
  const { client, clock, cluster, known, leadership, log, metrics, sources } = options;
  const pools = new Reflector<NetworkPortPool>({
    client,
    clock,
    log,
    resource: networkPortPoolResource,
    onEvent: ({ type, object, old }) => {
      const { name } = object.metadata;
      if (type === 'updated' && isDeepStrictEqual(object.spec, old.spec)) return;
      controller.mark(name);
      for (const port of sources.portsOfPool(name)) options.onPort(port.metadata.name);
    },
  });
  /** One of its name may have been of another network. */
  const portsOf = ({ metadata, spec: { network } }: NetworkPortPool): NetworkPort[] =>
    sources.portsOfPool(metadata.name).filter(({ spec }) => spec.network === network);

  const planOf = (network: ManagedNetwork): NeutronPlan | undefined => {
    const plan = sources.planFor(network);
    return 'problem' in plan ? undefined : plan.neutron;
  };

  const filler = createFiller({ ...options, portsOf });

  const say = async (
    pool: NetworkPortPool,
    limit: Limit | undefined,
    signal: AbortSignal,
  ): Promise<NetworkPortPool> => {
    const status = poolStatusOf({
      pool,
      ports: portsOf(pool),
      isToBeMade: (port) => known.isToBeMade(port),
      isRefused: (port) => known.refused.has(port.metadata.uid),
      limit,
      now: clock.now(),
    });
    if (isDeepStrictEqual(status, pool.status)) return pool;
    const fence = { client, resource: networkPortPoolResource, object: pool };
    return await replaceStatus(fence, status, { signal });
  };

  const controller = createController<string>({
    leadership,
    metrics,
    clock,
    log,
    name: 'network-port-pools',
    facts: () => (sources.isKnown() && pools.state.listed ? cluster() : undefined),
    markAll: () => {
      filler.forget();
      for (const { metadata } of pools.store.list()) controller.mark(metadata.name);
    },
    reconcile: async (name, cluster, signal) => {
      const pool = pools.store.byName('', name);
      if (!pool) return 'done';
      const { limit, outcome } = await filler.fill(pool, cluster, signal);
      await say(pool, limit, signal);
      return outcome;
    },
    fieldsOf: (pool) => ({ pool }),
    coalesceMs: COALESCE_MS,
    concurrency: CONCURRENCY,
  });

  return {
    mark: (name) => controller.mark(name),
    wants: (port) => {
      if (!isAnswered(pools.state)) return undefined;
      const pool = pools.store.byName('', poolOf(port) ?? '');
      const network = known.networkNamed(port.spec.network);
      if (!pool || !network || !isAsPlanned(port, network, planOf(network))) return false;
      const refusal = known.refused.get(port.metadata.uid);
      // One with another MAC takes its place; without room there would be none.
      if (refusal && refusal.reason !== 'NoFreeAddress') return false;
      return isWanted(port, pool, portsOf(pool));
    },
    run: async (signal) => {
      await Promise.all([pools.run(signal), controller.run(signal)]);
    },
  };
};
