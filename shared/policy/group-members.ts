/**
 * Groups of pods: which pods are in one, and with which addresses. The kernel's sets are made of
 * them, so that a pod that comes, goes or changes its labels changes members of sets, and no rule.
 */
import { createHash } from 'node:crypto';
import { selects, selectorText, type Labels, type LabelSelector } from '../kube/selector.ts';
import { spelled } from './address-blocks.ts';
import {
  CLUSTER_PLACE,
  CLUSTER_SCOPE,
  isWithin,
  type Scope,
  type SecondAddresses,
} from './networks.ts';
import type { Protocol } from './network-policy.ts';

/** A selector, and where it looks: in one namespace, or in those whose labels are selected. */
export type PodSelector = {
  pods: LabelSelector;
  namespaces: { name: string } | { labels: LabelSelector };
};

/**
 * With `port`: the addresses with the number that this port has on each pod; pods that have none by
 * that name are not in it. `scope`: in which networks; absent: the pods' own addresses alone.
 */
export type Group = PodSelector & { port?: NamedPort; scope?: Scope };
export type NamedPort = { name: string; protocol: Protocol };

export type PolicyPod = {
  namespace: string;
  name: string;
  uid: string;
  labels: Labels;
  /** RFC 3339, whole seconds. */
  creationTimestamp: string;
  addresses: readonly string[];
  /** A user with the right to change the pod can have written them. */
  secondAddresses?: readonly SecondAddresses[];
  ports: readonly (NamedPort & { port: number })[];
  /** Its addresses are the node's. */
  isHostNetwork: boolean;
  /** It keeps no address. */
  isFinished: boolean;
  /** No node runs it, so no kubelet has written its addresses. */
  isUnscheduled?: true;
  /** The network may have given its addresses to the next one. */
  isTerminating?: true;
};

/** The same group has the same id in every process; two that differ share one in 1 of 2⁶⁴ pairs. */
export const groupId = ({ pods, namespaces, port, scope }: Group): string => {
  const where =
    'name' in namespaces ? ['name', namespaces.name] : ['labels', selectorText(namespaces.labels)];
  const networks = scope?.map(({ name, subnets }) => [name, ...subnets]) ?? [];
  const text = JSON.stringify([
    ...where,
    selectorText(pods),
    port?.name,
    port?.protocol,
    ...networks,
  ]);
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
};

/** Whether the pod's labels and namespace are those of the group, whatever addresses it has. */
export const isSelected = (
  { pods, namespaces }: PodSelector,
  pod: Pick<PolicyPod, 'namespace' | 'labels'>,
  labelsOfNamespace: Labels,
): boolean => {
  const isThere =
    'name' in namespaces
      ? namespaces.name === pod.namespace
      : selects(namespaces.labels, labelsOfNamespace);
  return isThere && selects(pods, pod.labels);
};

/** Pods of which packets bear addresses of their own. */
export const hasOwnAddresses = ({ isHostNetwork, isFinished }: PolicyPod): boolean =>
  !isHostNetwork && !isFinished;

/** A pod's address in one network, in its one spelling. `claim`: only one pod can have it. */
export type OwnAddress = { address: string; claim: string; isForeign?: true };

const inNetwork = ({ network, addresses, isForeign }: SecondAddresses): OwnAddress[] =>
  addresses.flatMap((text) => {
    const address = spelled(text)?.address;
    if (address === undefined) return [];
    const claim = network === CLUSTER_PLACE ? address : `${network} ${address}`;
    return [{ address, claim, ...(isForeign && { isForeign }) }];
  });

const inCluster = ({ addresses }: PolicyPod): OwnAddress[] =>
  inNetwork({ network: CLUSTER_PLACE, addresses });

/** All that a pod has, in whatever network. */
export const addressesOf = (pod: PolicyPod): OwnAddress[] => [
  ...inCluster(pod),
  ...(pod.secondAddresses ?? []).flatMap(inNetwork),
];

/** Those that count in these networks. */
export const addressesIn = (pod: PolicyPod, scope: Scope = CLUSTER_SCOPE): OwnAddress[] =>
  scope.flatMap(({ name, subnets }) => {
    if (name === CLUSTER_PLACE) return inCluster(pod);
    return (pod.secondAddresses ?? [])
      .filter(({ network }) => network === name)
      .flatMap(inNetwork)
      .filter(({ address }) => isWithin(address, subnets));
  });

/**
 * What a pod that the group selects brings into it: its addresses, or `address . number` for a
 * named port. An address is a member through the pod that it belongs to, and through no other.
 * `?address`: it may belong to another one, so it is isolated, and nothing is let pass by it.
 */
export const membersFrom = (
  { port, scope }: Group,
  pod: PolicyPod,
  holdersOf: (claim: string) => readonly PolicyPod[],
): readonly string[] => {
  if (!hasOwnAddresses(pod)) return [];
  const held = addressesIn(pod, scope).map((one) => ({ ...one, holders: holdersOf(one.claim) }));
  const ours = held.filter(({ holders }) => isHeldBy(pod, holders));
  if (port === undefined)
    return ours.map((one) => (isCertain(one) ? one.address : doubtful(one.address)));
  const addresses = ours.filter(isCertain).map(({ address }) => address);
  const numbers = pod.ports
    .filter(({ name, protocol }) => name === port.name && protocol === port.protocol)
    .map((named) => named.port);
  return addresses.flatMap((address) => numbers.map((number) => pairText(address, number)));
};

const isCertain = ({
  holders,
  isForeign,
}: OwnAddress & { holders: readonly PolicyPod[] }): boolean => !isForeign && holders.length === 1;

export const isHeldBy = ({ uid }: PolicyPod, holders: readonly PolicyPod[]): boolean =>
  holders.some((holder) => holder.uid === uid);

const DOUBT = '?';
export const doubtful = (address: string): string => `${DOUBT}${address}`;
/** The address of a member of a group of pods, whether or not it is certain whose it is. */
export const withoutDoubt = (member: string): string =>
  member.startsWith(DOUBT) ? member.slice(DOUBT.length) : member;

const PAIR = ' . ';
export const pairText = (address: string, port: number): string => `${address}${PAIR}${port}`;
/** The address of a member, with or without a port. */
export const addressOf = (member: string): string => member.split(PAIR, 1)[0] ?? member;

/**
 * Among pods that have one address at the same time, those that it may belong to: one that a node
 * runs comes before one that none does, since a user with the right to write a status can write any
 * there; and then one that stays before one that is being stopped. When that leaves one, it is
 * certain.
 */
export const holdersAmong = (claimants: readonly Claimant[]): readonly PolicyPod[] => {
  const given = claimants.filter(({ isForeign }) => !isForeign);
  const pods = (given.length > 0 ? given : claimants).map(({ pod }) => pod);
  const best = Math.max(...pods.map(standingOf));
  return pods.filter((pod) => standingOf(pod) === best);
};
export type Claimant = { pod: PolicyPod; isForeign?: true | undefined };

const standingOf = ({ isTerminating, isUnscheduled }: PolicyPod): number =>
  (isUnscheduled ? 0 : 2) + (isTerminating ? 0 : 1);

/** Each once. */
export const claimsOf = (pod: PolicyPod): ReadonlyMap<string, true | undefined> =>
  new Map(addressesOf(pod).map(({ claim, isForeign }) => [claim, isForeign]));

/** By claim. */
export const holdersIn = (
  pods: readonly PolicyPod[],
): ReadonlyMap<string, readonly PolicyPod[]> => {
  const claimants = new Map<string, Claimant[]>();
  for (const pod of pods.filter(hasOwnAddresses))
    for (const [claim, isForeign] of claimsOf(pod))
      claimants.getOrInsert(claim, []).push({ pod, isForeign });
  return new Map([...claimants].map(([claim, those]) => [claim, holdersAmong(those)]));
};

export const sortedMembers = (members: readonly string[]): readonly string[] =>
  [...new Set(members)].sort();
