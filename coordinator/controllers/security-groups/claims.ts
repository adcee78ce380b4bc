/** Which port is whose: what pods' annotations say, and what Neutron says of these ports. Pure. */
import type { PolicyPod } from '#shared/policy/group-members.ts';
import { hasOwnAddresses } from '#shared/policy/group-members.ts';
import { podPortsIn } from '#shared/policy/pod-ports.ts';
import type { NeutronPort } from '../../neutron/neutron.ts';
import { isGuarded } from './plan.ts';
import type { PortOfPod } from './types.ts';

export type PortsAnnotation = { pod: PolicyPod; annotation: string };

export type UnguardedReason =
  /** Its annotation cannot be read. */
  | 'InvalidAnnotation'
  /** Neutron has no such port, or it does not bear our name. */
  | 'NotOurPort'
  /** A pod that was made earlier has it. */
  | 'PortTaken'
  | 'NoPortSecurity';

export type Unguarded = { pod: PolicyPod; reason: UnguardedReason; message: string };

export type PortClaims = { ports: PortOfPod[]; unguarded: Unguarded[] };

/** The ports that live pods name, for which Neutron has not been asked yet. */
export const namedPorts = (pods: readonly PortsAnnotation[]): PortOfPod[] =>
  pods.flatMap(({ pod, annotation }) => {
    const read = podPortsIn(annotation);
    if (!hasOwnAddresses(pod) || !('ports' in read)) return [];
    return read.ports.map(({ port }) => ({ id: port, pod: pod.uid, addresses: [] }));
  });

/**
 * A port that two live pods name belongs to the one that was made first: the author of a pod must
 * not take a port out of its policies by naming it.
 */
export const portClaimsOf = (
  pods: readonly PortsAnnotation[],
  present: ReadonlyMap<string, NeutronPort>,
): PortClaims => {
  const claims: PortClaims = { ports: [], unguarded: [] };
  const taken = new Set<string>();
  const live = pods.filter(({ pod }) => hasOwnAddresses(pod)).sort(byAge);
  for (const { pod, annotation } of live) {
    const refuse = (reason: UnguardedReason, message: string): void => {
      claims.unguarded.push({ pod, reason, message });
    };
    const read = podPortsIn(annotation);
    if ('problem' in read) {
      refuse('InvalidAnnotation', read.problem);
      continue;
    }
    for (const { interface: of, port: id } of read.ports) {
      const port = present.get(id);
      const what = `interface ${of}, port ${id}`;
      if (port === undefined) refuse('NotOurPort', `${what}: there is none of ours with this id`);
      else if (taken.has(id)) refuse('PortTaken', `${what}: a pod that was made earlier has it`);
      else if (!isGuarded(port))
        refuse('NoPortSecurity', `${what}: it has no port security, or is no port of a bridge`);
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

const byAge = ({ pod: one }: PortsAnnotation, { pod: other }: PortsAnnotation): number => {
  if (one.creationTimestamp !== other.creationTimestamp)
    return one.creationTimestamp < other.creationTimestamp ? -1 : 1;
  return one.uid < other.uid ? -1 : 1;
};
