/** The status of a ManagedNetwork. Pure. */
import {
  MAX_CONFLICT,
  MAX_CONFLICTS,
  type ManagedNetwork,
  type ManagedNetworkStatus,
} from '#shared/resources/other-kinds/managed-network.ts';
import { isUnclaimed } from '#shared/resources/other-kinds/network-port.ts';
import { conditionOf } from '../../rule-status/conditions.ts';
import { truncated } from '../../rule-status/wording.ts';
import { isReleased } from './claims.ts';
import type { KnownNetwork } from './decide.ts';

export type NetworkFacts = KnownNetwork & {
  /** Interfaces of running pods whose addresses are still to be claimed. */
  adopting?: number;
  conflicts: readonly string[];
  /** Attachments that do not take addresses, and why. */
  unobeyed: readonly string[];
  /** Why ports in Neutron without a NetworkPort stay. */
  sweepHeld?: string | undefined;
  now: number;
};

/** Characters that the CRD takes. */
const MAX_MESSAGE = 2_048;

type Condition = NonNullable<ManagedNetworkStatus['conditions']>[number];
type Said = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

/** The addresses of pods that ran before it are claimed. It stays so when its spec changes. */
export const isAdopted = ({ status }: ManagedNetwork): boolean =>
  status?.conditions?.some(({ type, status: is }) => type === 'Adopted' && is === 'True') ?? false;

export const statusOf = (facts: NetworkFacts): ManagedNetworkStatus => {
  const { object: network, plan, ports: claims, foreign, doubtful, adopting, conflicts } = facts;
  const ports = claims.all();
  const resting = ports.filter(isReleased).length;
  const taken = new Set([...ports.map(({ spec }) => spec.index), ...foreign.keys()]);
  const indexes = 'problem' in plan ? [] : plan.indexes;
  const isOfNeutron = network.spec.provider === 'neutron';
  const free = indexes.filter((index) => !taken.has(index)).length;
  const listed = conflicts.slice(0, MAX_CONFLICTS).map((text) => truncated(text, MAX_CONFLICT));
  const more = conflicts.length - listed.length;
  return {
    ...(network.metadata.generation !== undefined && {
      observedGeneration: network.metadata.generation,
    }),
    ...(!isOfNeutron && { free }),
    claimed: ports.filter((port) => !isReleased(port) && !isUnclaimed(port)).length,
    resting,
    foreign: foreign.size + doubtful.size,
    ...(adopting !== undefined && { adopting }),
    ...(listed.length > 0 && {
      conflicts: [...listed, ...(more > 0 ? [`and ${more} more`] : [])],
    }),
    conditions: conditionsOf(facts, isOfNeutron || free > 0 ? facts.full : FULL),
  };
};

/** `full`: why it gives no address now. */
const conditionsOf = (facts: NetworkFacts, full: string | undefined): Condition[] => {
  const { object: network, plan, conflicts, unobeyed, sweepHeld, now } = facts;
  const isOfNeutron = network.spec.provider === 'neutron';
  const wrong = (type: string, message: string): Said => ({
    type,
    status: 'True',
    reason: type,
    message: truncated(message, MAX_MESSAGE),
  });
  const adopted: Said = {
    type: 'Adopted',
    status: 'True',
    reason: conflicts.length > 0 ? 'Conflicts' : 'Adopted',
    message: isOfNeutron
      ? 'what pods that ran before the network have in it is not claimed for them'
      : 'the addresses of pods that ran before the network are claimed',
  };
  return [
    readyOf(plan, full),
    ...('problem' in plan && !isAdopted(network) ? [] : [adopted]),
    ...(unobeyed.length > 0 ? [wrong('NotObeyed', unobeyed.join('; '))] : []),
    ...(sweepHeld === undefined ? [] : [wrong('SweepHeld', sweepHeld)]),
  ].map((said) => conditionOf(network, now, said));
};

const FULL = 'pods wait until an address is free';

const readyOf = (plan: NetworkFacts['plan'], full: string | undefined): Said => {
  if ('problem' in plan)
    return {
      type: 'Ready',
      status: 'False',
      reason: plan.reason ?? 'InvalidSpec',
      message: truncated(plan.problem, MAX_MESSAGE),
    };
  return {
    type: 'Ready',
    status: 'True',
    reason: full === undefined ? 'Ready' : 'Full',
    message: full ?? 'pods get addresses',
  };
};
