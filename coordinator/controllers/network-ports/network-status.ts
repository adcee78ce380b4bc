/** The status of a ManagedNetwork. Pure. */
import {
  MAX_CONFLICT,
  MAX_CONFLICTS,
  type ManagedNetwork,
  type ManagedNetworkStatus,
} from '#shared/resources/other-kinds/managed-network.ts';
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
  now: number;
};

/** Characters that the CRD takes. */
const MAX_MESSAGE = 2_048;

type Condition = NonNullable<ManagedNetworkStatus['conditions']>[number];
type Said = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

/** The addresses of pods that ran before it are claimed. It stays so when its spec changes. */
export const isAdopted = ({ status }: ManagedNetwork): boolean =>
  status?.conditions?.some(({ type, status: is }) => type === 'Adopted' && is === 'True') ?? false;

export const statusOf = ({
  object: network,
  plan,
  ports: claims,
  foreign,
  doubtful,
  adopting,
  conflicts,
  unobeyed,
  now,
}: NetworkFacts): ManagedNetworkStatus => {
  const ports = claims.all();
  const resting = ports.filter(isReleased).length;
  const taken = new Set([...ports.map(({ spec }) => spec.index), ...foreign.keys()]);
  const indexes = 'problem' in plan ? [] : plan.indexes;
  const free = indexes.filter((index) => !taken.has(index)).length;
  const listed = conflicts.slice(0, MAX_CONFLICTS).map((text) => truncated(text, MAX_CONFLICT));
  const more = conflicts.length - listed.length;
  const condition = (said: Said): Condition => conditionOf(network, now, said);
  return {
    ...(network.metadata.generation !== undefined && {
      observedGeneration: network.metadata.generation,
    }),
    free,
    claimed: ports.length - resting,
    resting,
    foreign: foreign.size + doubtful.size,
    ...(adopting !== undefined && { adopting }),
    ...(listed.length > 0 && {
      conflicts: [...listed, ...(more > 0 ? [`and ${more} more`] : [])],
    }),
    conditions: [
      condition(readyOf(plan, free)),
      ...('problem' in plan && !isAdopted(network)
        ? []
        : [
            condition({
              type: 'Adopted',
              status: 'True',
              reason: conflicts.length > 0 ? 'Conflicts' : 'Adopted',
              message: 'the addresses of pods that ran before the network are claimed',
            }),
          ]),
      ...(unobeyed.length > 0
        ? [
            condition({
              type: 'NotObeyed',
              status: 'True',
              reason: 'NotObeyed',
              message: truncated(unobeyed.join('; '), MAX_MESSAGE),
            }),
          ]
        : []),
    ],
  };
};

const readyOf = (plan: NetworkFacts['plan'], free: number): Said => {
  if ('problem' in plan) {
    const reason = plan.isAdopting ? 'Adopting' : 'InvalidSpec';
    return { type: 'Ready', status: 'False', reason, message: plan.problem };
  }
  return free === 0
    ? {
        type: 'Ready',
        status: 'True',
        reason: 'Full',
        message: 'pods wait until an address is free',
      }
    : { type: 'Ready', status: 'True', reason: 'Ready', message: 'pods get addresses' };
};
