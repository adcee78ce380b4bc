/**
 * What a pool lacks, made in Neutron. A bulk is sent once: what it has not made is posted singly,
 * since Neutron takes minutes over two bulks with a MAC in common (measured).
 */
import type { Outcome } from '#shared/kube/controller.ts';
import type { NetworkPortPool } from '#shared/resources/other-kinds/network-port-pool.ts';
import { isUnclaimed, type NetworkPort } from '#shared/resources/other-kinds/network-port.ts';
import type { Clock } from '#shared/runtime/clock.ts';
import type { Logger } from '#shared/runtime/log.ts';
import { atOnce } from '#shared/util/at-once.ts';
import { NeutronError } from '../../../neutron/errors.ts';
import { causeOf } from '../../../neutron/outage.ts';
import type { PortSources } from '../sources.ts';
import { portName, randomMac, type NeutronPlan } from '../subnets.ts';
import type { PortWrites } from '../writes.ts';
import { AGAIN_MS, type KnownInNeutron } from './known.ts';
import type { Maker } from './make.ts';
import { lackOf } from './pool.ts';

/** Why a pool gets no more ports; `reason` in CamelCase. */
export type Limit = { reason: string; message: string };
type Filled = { limit?: Limit | undefined; outcome: Outcome };

export type Filler = {
  /** `cluster`: its mark. */
  fill: (pool: NetworkPortPool, cluster: string, signal: AbortSignal) => Promise<Filled>;
  /** Another coordinator has acted since. */
  forget: () => void;
};

type Options = {
  clock: Pick<Clock, 'monotonic'>;
  known: KnownInNeutron;
  log: Logger;
  maker: Maker;
  sources: PortSources;
  writes: PortWrites;
  /** Whether the pool wants it may be another. */
  onPort: (name: string) => void;
  portsOf: (pool: NetworkPortPool) => readonly NetworkPort[];
};

const WRITES_AT_ONCE = 8;
/** A bulk whose answer was lost may be at work still. */
const DOUBT_MS = 30_000;

export const createFiller = (options: Options): Filler => {
  const { clock, known, log, maker, onPort, portsOf, sources, writes } = options;
  /** By name of the pool: until when the bulk before may be at work. */
  const doubts = new Map<string, number>();

  const planFor = ({ spec }: NetworkPortPool): NeutronPlan | Limit => {
    const reason = 'NetworkNotReady';
    const network = known.networkNamed(spec.network);
    if (network?.spec.provider !== 'neutron')
      return { reason, message: `there is no ManagedNetwork ${spec.network} of provider neutron` };
    const plan = sources.planFor(network);
    if ('problem' in plan) return { reason, message: `network ${spec.network}: ${plan.problem}` };
    return plan.neutron ?? { reason, message: `network ${spec.network} is not of Neutron` };
  };

  const fullOf = ({ spec }: NetworkPortPool): Limit | undefined => {
    const network = known.networkNamed(spec.network);
    const message = network && known.fullOf(network);
    return message === undefined ? undefined : { reason: 'Full', message };
  };

  const fill = async (
    pool: NetworkPortPool,
    cluster: string,
    signal: AbortSignal,
  ): Promise<Filled> => {
    const plan = planFor(pool);
    const limit = 'reason' in plan ? plan : fullOf(pool);
    if ('reason' in plan || limit) return { limit, outcome: { againInMs: AGAIN_MS } };
    const { name } = pool.metadata;
    const waitMs = (doubts.get(name) ?? 0) - clock.monotonic();
    if (waitMs > 0) return { outcome: { againInMs: waitMs } };
    const held = await makeMissing(pool, cluster, signal);
    if (held) return held;
    const lack = lackOf(pool, portsOf(pool));
    if (lack === 0) return { outcome: 'done' };
    const ports = await added(pool, lack, signal);
    doubts.set(name, clock.monotonic() + DOUBT_MS);
    await maker.makeAll(ports, { cluster, plan, signal });
    doubts.delete(name);
    // Where it made none the next look posts them singly: there may be room for some.
    return { outcome: { againInMs: 0 } };
  };

  /** One by one. Undefined: nothing keeps it from more. */
  const makeMissing = async (
    pool: NetworkPortPool,
    cluster: string,
    signal: AbortSignal,
  ): Promise<Filled | undefined> => {
    for (const { metadata } of portsOf(pool)) {
      // The calls for those before it took seconds.
      const port = sources.port(metadata.name);
      if (!port || !isUnclaimed(port) || !known.isToBeMade(port)) continue;
      const outcome = await maker.makeOne(port, cluster, signal);
      const full = fullOf(pool);
      if (full) return { limit: full, outcome: { failed: full.reason, againInMs: AGAIN_MS } };
      if (!outcome) continue;
      const refusal = known.refused.get(port.metadata.uid);
      if (refusal) onPort(metadata.name);
      // What others have says nothing of those behind it.
      if (refusal?.reason !== 'FixedAddressNotFree') return { limit: refusal, outcome };
    }
    return undefined;
  };

  /** NetworkPorts come before their ports, so that none of these is without an owner. */
  const added = async (
    { metadata, spec: { network } }: NetworkPortPool,
    count: number,
    signal: AbortSignal,
  ): Promise<NetworkPort[]> => {
    const specs = Array.from({ length: count }, () => ({
      network,
      mac: randomMac(),
      addresses: [],
      managed: true,
    }));
    await atOnce(specs, WRITES_AT_ONCE, (spec) => writes.add(spec, metadata.name, signal));
    return specs.flatMap((spec) => sources.port(portName(spec)) ?? []);
  };

  const fillOrSay: Filler['fill'] = async (pool, cluster, signal) => {
    try {
      return await fill(pool, cluster, signal);
    } catch (error) {
      if (!(error instanceof NeutronError)) throw error;
      const limit = causeOf(error);
      log.warn({ err: error, pool: pool.metadata.name }, 'a pool cannot be filled, retrying');
      return { limit, outcome: { failed: limit.reason, againInMs: AGAIN_MS } };
    }
  };

  return { fill: fillOrSay, forget: () => doubts.clear() };
};
