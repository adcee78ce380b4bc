/**
 * A network that appears over running pods: what they have is claimed for them, before anything is
 * given.
 */
import { isInvalid } from '#shared/kube/errors.ts';
import type { ManagedNetwork } from '#shared/resources/other-kinds/managed-network.ts';
import type { NetworkPortSpec } from '#shared/resources/other-kinds/network-port.ts';
import { messageOf } from '#shared/runtime/errors.ts';
import type { Claims } from './claims.ts';
import { claimOf, nameOfPod, refusedTo, shareExceeded } from './decide.ts';
import { indexesOfPod } from './foreign.ts';
import type { Keepers } from './keep-addresses.ts';
import { presentOf, type PortPod, type PresentAddresses } from './objects.ts';
import type { PortSources } from './sources.ts';
import { addressesAt, commonIndexOf, macAt, type Plan } from './subnets.ts';
import type { PortWrites } from './writes.ts';

type Deps = { sources: PortSources; writes: PortWrites; keepers: Keepers; signal: AbortSignal };

/** Returns what could not be claimed, in words. @throws KubeError */
export const adopt = async (network: ManagedNetwork, plan: Plan, deps: Deps): Promise<string[]> => {
  const conflicts: string[] = [];
  const { sources } = deps;
  // The status has the first conflicts alone, and a namespace its share for its older pods.
  const pods = sources
    .runningPods(network)
    .map((pod) => ({ pod, rank: refusedTo(pod.metadata.namespace, network) === undefined ? 0 : 1 }))
    .sort((one, other) => one.rank - other.rank || createdAt(one.pod) - createdAt(other.pod))
    .map(({ pod }) => pod);
  const users = usersOf(pods, network, plan);
  const { ports } = sources.known(network);
  for (const pod of pods) {
    for (const present of presentOf(pod, network)) {
      const conflict = await adoptOne({ network, plan, ports, users, pod, present }, deps).catch(
        refusalIn,
      );
      if (conflict !== undefined) {
        const { namespace, name } = pod.metadata;
        const what = `${present.interface}: ${present.addresses.join(' ')}`;
        conflicts.push(`pod ${namespace}/${name}, interface ${what}: ${conflict}`);
      }
    }
  }
  return conflicts;
};

/** What its author wrote into a pod keeps no other from its addresses. @throws the error */
const refusalIn = (error: unknown): string => {
  if (isInvalid(error)) return `the API server refuses the claim: ${messageOf(error)}`;
  throw error;
};

const createdAt = ({ metadata }: PortPod): number => Date.parse(metadata.creationTimestamp);

type Users = ReadonlyMap<number, readonly PortPod[]>;

/** By index: two of the pods that say they have the address. */
const usersOf = (pods: readonly PortPod[], network: ManagedNetwork, plan: Plan): Users => {
  const users = new Map<number, PortPod[]>();
  for (const pod of pods)
    for (const index of new Set(indexesOfPod(pod, network, plan))) {
      const those = users.getOrInsertComputed(index, () => []);
      // With two it is contested, and each of thousands of pods can say all addresses.
      if (those.length < 2) those.push(pod);
    }
  return users;
};

type Adopted = {
  network: ManagedNetwork;
  plan: Plan;
  ports: Claims;
  users: Users;
  pod: PortPod;
  present: PresentAddresses;
};

const adoptOne = async (adopted: Adopted, deps: Deps): Promise<string | undefined> => {
  const { network, plan, ports, pod, present } = adopted;
  const { keepers, writes, signal } = deps;
  const index = commonIndexOf(plan, present.addresses);
  if (typeof index !== 'number') return index.problem;
  // Out of the ranges nothing is given, and so nothing is claimed.
  if (!plan.indexes.includes(index)) return undefined;
  const { name, uid: networkUid } = network.metadata;
  const { metadata, owner } = pod;
  if (ports.at(index) === undefined) {
    const problem = problemOf(adopted, index);
    if (problem !== undefined) return problem;
    const keeper = await keepers.of(pod, signal);
    const spec: NetworkPortSpec = {
      network: name,
      index,
      mac: macAt(networkUid, index),
      addresses: addressesAt(plan, index),
      claim: claimOf({ ...metadata, owner, keeper }, present.interface),
      managed: false,
    };
    if (await writes.create(spec, signal)) return undefined;
  }
  const user = ports.at(index)?.spec.claim;
  return user?.uid === metadata.uid
    ? undefined
    : `pod ${user ? nameOfPod(user) : 'of another claim'} has it`;
};

/**
 * Any user with the right to change a pod writes any address into its annotations. One that is
 * claimed isolates no other pod any more, so of two that say they have it neither gets the claim:
 * policies isolate both.
 */
const problemOf = ({ network, ports, users, pod }: Adopted, index: number): string | undefined => {
  const { namespace } = pod.metadata;
  const refused = refusedTo(namespace, network);
  if (refused !== undefined) return refused;
  const other = users.get(index)?.find((user) => user !== pod)?.metadata;
  return other
    ? `pod ${other.namespace}/${other.name} says that it has it too`
    : shareExceeded(namespace, { object: network, ports });
};
