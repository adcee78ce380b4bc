/**
 * What the status of a PolicyEnforcement says of the policy's pods: how many it protects here, and
 * which not and why. Never more than agents have reported. Pure.
 */
import {
  addressesIn,
  addressesOf,
  isHeldBy,
  type PolicyPod,
} from '#shared/policy/group-members.ts';
import { CLUSTER_PLACE, subnetOf, type Scope } from '#shared/policy/networks.ts';
import type {
  PolicyEnforcement,
  PolicyEnforcementSpec,
} from '#shared/resources/other-kinds/policy-enforcement.ts';
import type { NotEnforced } from './not-enforced.ts';

export type Status = NonNullable<PolicyEnforcement['status']>;
export type OwnStatus = Pick<Status, 'selectedPods' | 'notEnforced' | 'scope'>;

const MAX_EXAMPLES = 5;
const MAX_SCOPE = 512;

export type StatusFacts = {
  spec: Pick<PolicyEnforcementSpec, 'lines' | 'refused'>;
  scope: Scope;
  /** Those that the policy selects. */
  selected: readonly PolicyPod[];
  members: (group: string) => readonly string[];
  holdersOf: (claim: string) => readonly PolicyPod[];
  /** Uids of the pods of the CNF itself. */
  cnf: ReadonlySet<string>;
  purpose: string;
  /** Each agent of the CNF has reported exactly this. */
  isInSync: boolean;
};

export const ownStatusOf = (facts: StatusFacts): OwnStatus => {
  const { purpose, scope, selected } = facts;
  const reasons = new Map<NotEnforced, string[]>();
  const peers = peersOf(facts);
  for (const pod of selected) {
    const reason = whyNotEnforced(pod, peers, facts);
    if (reason !== undefined)
      reasons.set(reason, [...(reasons.get(reason) ?? []), `${pod.namespace}/${pod.name}`]);
  }
  const without = [...reasons.values()].reduce((sum, { length }) => sum + length, 0);
  const enforced = selected.length - without;
  const notEnforced = [...reasons]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([reason, names]) => ({
      reason,
      pods: names.length,
      examples: names.toSorted().slice(0, MAX_EXAMPLES),
    }));
  return {
    selectedPods: {
      selected: selected.length,
      enforced,
      summary: `${enforced}/${selected.length}`,
    },
    ...(notEnforced.length > 0 && { notEnforced }),
    scope: scopeText(purpose, scope),
  };
};

const scopeText = (purpose: string, scope: Scope): string => {
  const second = scope.filter(({ name }) => name !== CLUSTER_PLACE).map(({ name }) => name);
  const whose = [
    ...(second.length < scope.length ? ["the pods' own addresses"] : []),
    ...(second.length > 0 ? [`pods' addresses in ${second.join(', ')}`] : []),
  ].join(' or ');
  return `only packets that the pods of CNF ${purpose} forward from or to ${whose}: those between pods of one network, and those of host-network pods, do not come here`.slice(
    0,
    MAX_SCOPE,
  );
};

const whyNotEnforced = (
  pod: PolicyPod,
  peers: readonly string[] | undefined,
  { cnf, holdersOf, isInSync, scope, spec }: StatusFacts,
): NotEnforced | undefined => {
  if (cnf.has(pod.uid)) return 'IsTheEnforcer';
  // In second networks it has addresses of its own.
  if (pod.isHostNetwork) return 'HostNetwork';
  if (pod.isFinished) return 'Finished';
  const own = addressesIn(pod, scope);
  if (own.length === 0) return whyNoAddress(pod, scope);
  const holders = own.map(({ claim }) => holdersOf(claim));
  if (holders.some((of) => !isHeldBy(pod, of))) return 'AddressTaken';
  if (holders.some(({ length }) => length > 1)) return 'AddressShared';
  if (own.some(({ isForeign }) => isForeign)) return 'AddressNotManaged';
  if (spec.refused) return spec.refused.reason;
  if (peers && isAmongNeighbours(own, peers, scope)) return 'SameNetworkOnly';
  return isInSync ? undefined : 'AgentNotReady';
};

const whyNoAddress = (pod: PolicyPod, scope: Scope): NotEnforced => {
  const names = new Set(scope.map(({ name }) => name));
  if (names.has(CLUSTER_PLACE)) return 'NoAddressYet';
  const isThere = (pod.secondAddresses ?? []).some(
    ({ addresses, network }) => names.has(network) && addresses.length > 0,
  );
  return isThere && addressesOf(pod).length > 0 ? 'OutsideNetwork' : 'NotInNetwork';
};

/** Undefined when the policy lets pass what is of no pod, too. */
const peersOf = ({ members, spec: { lines } }: StatusFacts): readonly string[] | undefined => {
  const groups = new Set(lines.map(({ group }) => group));
  return groups.has(undefined) || groups.size === 0
    ? undefined
    : [...groups].flatMap((group) => members(group ?? ''));
};

/** All that the policy lets come to the pod, or go from it, is in its subnet: not forwarded. */
const isAmongNeighbours = (
  own: readonly { address: string }[],
  peers: readonly string[],
  scope: Scope,
): boolean => {
  if (peers.length === 0 || scope.some(({ name }) => name === CLUSTER_PLACE)) return false;
  const subnets = scope.flatMap((network) => network.subnets);
  const ours = new Set(own.map(({ address }) => subnetOf(address, subnets)));
  return peers.every((peer) => ours.has(subnetOf(peer, subnets)));
};
