/** How many ports a NetworkPortPool has and is to have, and what its status says. Pure. */
import type {
  NetworkPortPool,
  NetworkPortPoolStatus,
} from '#shared/resources/other-kinds/network-port-pool.ts';
import { isUnclaimed, type NetworkPort } from '#shared/resources/other-kinds/network-port.ts';
import { conditionOf } from '../../../rule-status/conditions.ts';
import { isReleased } from '../claims.ts';

/** Neutron makes all of a bulk or none, each in some 150 ms of its CPU (measured). */
export const BULK = 20;

export type PoolFacts = {
  pool: NetworkPortPool;
  /** Those of its network that bear its name. */
  ports: readonly NetworkPort[];
  isToBeMade: (port: NetworkPort) => boolean;
  isRefused: (port: NetworkPort) => boolean;
  /** Why it gets no more. */
  limit?: { reason: string; message: string } | undefined;
  now: number;
};

/** No pod has it, and one can get it when it is made. */
const isSpare = (port: NetworkPort): boolean => isUnclaimed(port) && !isReleased(port);

/** How many NetworkPorts are to be added now. */
export const lackOf = ({ spec: { min, max } }: NetworkPortPool, ports: readonly NetworkPort[]) => {
  const spare = ports.filter(isSpare).length;
  return spare < min ? Math.min(BULK, max - spare) : 0;
};

/** Whether the pool keeps one of these. */
export const isWanted = (
  port: NetworkPort,
  { spec: { max } }: NetworkPortPool,
  ports: readonly NetworkPort[],
): boolean => {
  const spare = ports.filter(isSpare).map(({ metadata }) => metadata.uid);
  const at = spare.indexOf(port.metadata.uid);
  return at >= 0 && at < max;
};

export const poolStatusOf = (facts: PoolFacts): NetworkPortPoolStatus => {
  const { isRefused, isToBeMade, limit, now, pool, ports } = facts;
  const { generation } = pool.metadata;
  const spare = ports.filter(isSpare);
  const unmade = spare.filter(isToBeMade);
  const failed = unmade.filter(isRefused).length;
  const available = spare.length - unmade.length;
  const { min } = pool.spec;
  const isFull = available >= min;
  const said = {
    type: 'Ready',
    ...(isFull || !limit ? { reason: isFull ? 'Ready' : 'BeingMade' } : { reason: limit.reason }),
    status: isFull ? ('True' as const) : ('False' as const),
    message: `${available} of at least ${min} ports are available${limit ? `: ${limit.message}` : ''}`,
  };
  return {
    ...(generation !== undefined && { observedGeneration: generation }),
    available,
    claimed: ports.filter((port) => !isUnclaimed(port) && !isReleased(port)).length,
    beingMade: unmade.length - failed,
    resting: ports.filter(isReleased).length,
    failed,
    conditions: [conditionOf(pool, now, said)],
  };
};
