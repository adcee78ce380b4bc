/**
 * A network that appears over running pods: what they have is claimed for them, before anything is
 * given.
 */
import type { ManagedNetwork } from '#shared/resources/other-kinds/managed-network.ts';
import type { NetworkPortSpec } from '#shared/resources/other-kinds/network-port.ts';
import { claimOf, nameOfPod } from './decide.ts';
import type { Keepers } from './keepers.ts';
import { presentOf, type PortPod, type PresentAddresses } from './objects.ts';
import type { PortSources } from './sources.ts';
import { addressesAt, commonIndexOf, macAt, portName, type Plan } from './subnets.ts';
import type { PortWrites } from './writes.ts';

type Deps = { sources: PortSources; writes: PortWrites; keepers: Keepers; signal: AbortSignal };

/** Returns what could not be claimed, in words. @throws KubeError */
export const adopt = async (network: ManagedNetwork, plan: Plan, deps: Deps): Promise<string[]> => {
  const conflicts: string[] = [];
  const { namespaces = [] } = network.spec;
  // Any user with the right to change a pod writes any address into its annotations: of two pods
  // with one it is that of a namespace that may have it, and then the older one's.
  const pods = deps.sources
    .runningPods(network)
    .map((pod) => ({ pod, rank: namespaces.includes(pod.metadata.namespace) ? 0 : 1 }))
    .sort((one, other) => one.rank - other.rank || createdAt(one.pod) - createdAt(other.pod));
  for (const { pod } of pods) {
    for (const present of presentOf(pod, network)) {
      const conflict = await adoptOne({ network, plan, pod, present }, deps);
      if (conflict !== undefined) {
        const { namespace, name } = pod.metadata;
        const what = `${present.interface}: ${present.addresses.join(' ')}`;
        conflicts.push(`pod ${namespace}/${name}, interface ${what}: ${conflict}`);
      }
    }
  }
  return conflicts;
};

const createdAt = ({ metadata }: PortPod): number => Date.parse(metadata.creationTimestamp);

type Adopted = { network: ManagedNetwork; plan: Plan; pod: PortPod; present: PresentAddresses };

const adoptOne = async (
  { network, plan, pod, present }: Adopted,
  { keepers, sources, writes, signal }: Deps,
): Promise<string | undefined> => {
  const index = commonIndexOf(plan, present.addresses);
  if (typeof index !== 'number') return index.problem;
  // Out of the ranges nothing is given, and so nothing is claimed.
  if (!plan.indexes.includes(index)) return undefined;
  const { name, uid: networkUid } = network.metadata;
  const { metadata, owner } = pod;
  const keeper = await keepers.of(pod, signal);
  const spec: NetworkPortSpec = {
    network: name,
    index,
    mac: macAt(networkUid, index),
    addresses: addressesAt(plan, index),
    claim: claimOf({ ...metadata, owner, keeper }, present.interface),
    managed: false,
  };
  const there = sources.port(portName(spec));
  if (there === undefined && (await writes.create(spec, signal))) return undefined;
  const user = sources.port(portName(spec))?.spec.claim;
  return user?.uid === metadata.uid
    ? undefined
    : `pod ${user ? nameOfPod(user) : 'of another claim'} has it`;
};
