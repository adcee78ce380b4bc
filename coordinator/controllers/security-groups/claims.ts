/** Which port is whose: what pods' annotations say, and what Neutron says of these ports. Pure. */
import type { PolicyPod } from '#shared/policy/group-members.ts';
import { hasOwnAddresses } from '#shared/policy/group-members.ts';
import { podPortsIn, type PodPort } from '#shared/policy/pod-ports.ts';
import { isOfNetworkPort } from '../../neutron/names.ts';
import type { NeutronPort } from '../../neutron/neutron.ts';
import { isGuarded } from './plan.ts';
import type { PortOfPod } from './types.ts';

/** `given`: those of its NetworkPorts, which no user can write. `annotation`: what it says. */
export type PodWithPorts = {
  pod: PolicyPod;
  given?: readonly PodPort[];
  annotation?: string | undefined;
};

export type UnguardedReason =
  /** Its annotation cannot be read. */
  | 'InvalidAnnotation'
  /** Neutron has no such port, or it does not bear our name. */
  | 'NotOurPort'
  /** A pod that was made earlier has it. */
  | 'PortTaken'
  | 'NoPortSecurity';

/** `port`: its id, where there is one that can have no groups. */
export type Unguarded = { pod: PolicyPod; reason: UnguardedReason; message: string; port?: string };

export type PortClaims = { ports: PortOfPod[]; unguarded: Unguarded[] };

/** The ports that live pods name, for which Neutron has not been asked yet. */
export const namedPorts = (pods: readonly PodWithPorts[]): PortOfPod[] =>
  pods.flatMap((of) => {
    const read = portsOf(of);
    if (!hasOwnAddresses(of.pod) || !('ports' in read)) return [];
    return read.ports.map(({ port }) => ({ id: port, pod: of.pod.uid, addresses: [] }));
  });

const portsOf = ({ annotation, given }: PodWithPorts): ReturnType<typeof podPortsIn> =>
  given ? { ports: [...given] } : podPortsIn(annotation ?? '');

/**
 * A port that two live pods name belongs to the one that was made first: the author of a pod must
 * not take a port out of its policies by naming it.
 */
export const portClaimsOf = (
  pods: readonly PodWithPorts[],
  present: ReadonlyMap<string, NeutronPort>,
): PortClaims => {
  const claims: PortClaims = { ports: [], unguarded: [] };
  const taken = new Set<string>();
  const live = pods.filter(({ pod }) => hasOwnAddresses(pod)).sort(byAge);
  for (const of of live) {
    const { pod } = of;
    const refuse = (reason: UnguardedReason, message: string, id?: string): void => {
      claims.unguarded.push({ pod, reason, message, ...(id !== undefined && { port: id }) });
    };
    const read = portsOf(of);
    if ('problem' in read) {
      refuse('InvalidAnnotation', read.problem);
      continue;
    }
    for (const { interface: device, port: id } of read.ports) {
      const port = present.get(id);
      const what = `interface ${device}, port ${id}`;
      if (port && !of.given && isOfNetworkPort(port.name))
        refuse('NotOurPort', `${what}: it is that of a NetworkPort`);
      else if (port === undefined)
        refuse('NotOurPort', `${what}: there is none of ours with this id`);
      else if (taken.has(id)) refuse('PortTaken', `${what}: a pod that was made earlier has it`);
      else if (!isGuarded(port))
        refuse('NoPortSecurity', `${what}: it has no port security, or is no port of a bridge`, id);
      else
        claims.ports.push({
          id,
          pod: pod.uid,
          addresses: port.fixed_ips.map(({ ip_address: address }) => address),
        });
      taken.add(id);
    }
  }
  return claims;
};

/** Those that no user can have written come first. */
const byAge = (
  { pod: one, given: isOnes }: PodWithPorts,
  { pod: other, given: isOthers }: PodWithPorts,
): number => {
  if (!isOnes !== !isOthers) return isOnes ? -1 : 1;
  if (one.creationTimestamp !== other.creationTimestamp)
    return one.creationTimestamp < other.creationTimestamp ? -1 : 1;
  return one.uid < other.uid ? -1 : 1;
};
