/**
 * The claim of a port in Neutron for an interface of a pod, before Neutron is asked: its MAC is
 * chosen here, and no second port of the network can be made with it. Pure.
 */
import type { NetworkPort, NetworkPortSpec } from '#shared/resources/other-kinds/network-port.ts';
import { spelling } from '#shared/policy/address-blocks.ts';
import type { Ask } from '../asks.ts';
import type { Claims } from '../claims.ts';
import { fixedProblem } from './plan.ts';
import type { NeutronPlan } from '../subnets.ts';

type Refused = { reason: 'FixedAddressNotFree' | 'NoFreeAddress'; problem: string };

type Wanted = {
  ask: Ask;
  known: {
    object: { metadata: { name: string } };
    ports: Claims;
    full?: string | undefined;
  };
  /** For other interfaces of the pod. */
  chosen: readonly { spec: Pick<NetworkPortSpec, 'mac' | 'addresses'> }[];
  randomMac: () => string;
};

export const claimInNeutron = ({
  ask: { fixed, mac: asked, interface: device },
  known: { full, object, ports },
  chosen,
  neutron,
  randomMac,
  usersOf,
}: Wanted & { neutron: NeutronPlan; usersOf: (port: NetworkPort) => string }):
  | Pick<NetworkPortSpec, 'mac' | 'addresses'>
  | Refused => {
  const network = object.metadata.name;
  const wrong = fixedProblem(neutron, fixed);
  if (wrong !== undefined)
    return {
      reason: 'FixedAddressNotFree',
      problem: `interface ${device}: ${wrong} of network ${network}`,
    };
  const addresses = fixed.map(spelling);
  const mac = asked?.toLowerCase() ?? randomMac();
  // Neutron would make a port with it.
  if (isOfGroup(mac))
    return {
      reason: 'FixedAddressNotFree',
      problem: `${mac} for interface ${device} is the MAC of a group`,
    };
  const isSame = (spec: Pick<NetworkPortSpec, 'mac' | 'addresses'>): boolean =>
    spec.mac === mac || spec.addresses.some((one) => addresses.includes(one));
  const holder = ports.inNeutron(mac, addresses);
  if (holder || chosen.some(({ spec }) => isSame(spec)))
    return {
      reason: 'FixedAddressNotFree',
      problem: `${[...addresses, mac].join(' ')} for interface ${device}: ${holder ? usersOf(holder) : 'another interface of the pod has it'}`,
    };
  return full === undefined ? { mac, addresses } : { reason: 'NoFreeAddress', problem: full };
};

const isOfGroup = (mac: string): boolean => (Number.parseInt(mac.slice(0, 2), 16) & 1) === 1;

export const isAskedInNeutron = (
  { addresses }: Pick<NetworkPortSpec, 'addresses'>,
  fixed: readonly string[],
): boolean => fixed.map(spelling).every((one) => addresses.includes(one));
