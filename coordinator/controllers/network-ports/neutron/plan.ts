/** What a network in Neutron gives, and what is asked of it for a port. Pure. */
import type {
  ManagedNetwork,
  ManagedNetworkSpec,
} from '#shared/resources/other-kinds/managed-network.ts';
import type { NetworkPort } from '#shared/resources/other-kinds/network-port.ts';
import {
  blockOfOne,
  holdsBlock,
  parseAddress,
  parseBlock,
  spelling,
  type Block,
} from '#shared/policy/address-blocks.ts';
import type { MadePort, NeutronNetwork, NeutronSubnet, NewPort } from '../../../neutron/ports.ts';
import type { NeutronPlan, Plan, PlannedSubnet, Unplanned } from '../subnets.ts';

type PlanInNeutron = Plan & { neutron: NeutronPlan };

export type FoundNetwork = {
  /** That of the credentials. */
  project: string;
  /** Undefined: there is none of that id, or it is not for us. */
  network: NeutronNetwork | undefined;
  subnets: readonly NeutronSubnet[];
};

export const planInNeutron = (
  { network: id, subnets: wanted }: NonNullable<ManagedNetworkSpec['neutron']>,
  { project, network, subnets }: FoundNetwork,
): PlanInNeutron | Unplanned => {
  if (network === undefined)
    return { reason: 'NotFound', problem: `spec.neutron.network: Neutron has no network ${id}` };
  if (network.project_id !== project)
    return {
      reason: 'NotOurNetwork',
      problem: `spec.neutron.network: ${id} is of project ${network.project_id}, and clouds.yaml of project ${project}, whose ports could have no MAC of ours there`,
    };
  const missing = wanted?.find((one) => !subnets.some((subnet) => subnet.id === one));
  if (missing !== undefined)
    return {
      reason: 'NotFound',
      problem: `spec.neutron.subnets: network ${id} has no subnet ${missing}`,
    };
  const chosen = subnets.filter((subnet) => wanted?.includes(subnet.id) ?? true);
  const planned = chosen.flatMap((subnet) => plannedOf(subnet) ?? []);
  const [one, other] = planned;
  const isOfTwoFamilies = one?.block.family !== other?.block.family;
  if (one === undefined || planned.length > 2 || !isOfTwoFamilies)
    return {
      reason: 'InvalidSpec',
      problem: `spec.neutron.subnets: must name one subnet for each family, of network ${id} they are ${planned.map(({ id: of, cidr }) => `${of} (${cidr})`).join(', ') || 'none'}`,
    };
  const sorted = planned.toSorted((a, b) => a.block.family - b.block.family);
  return {
    blocks: sorted.map(({ block }) => block),
    indexes: [],
    range: sorted.map(poolsOf).join(' and '),
    neutron: { network: id, mtu: network.mtu, subnets: sorted },
  };
};

const plannedOf = (subnet: NeutronSubnet): PlannedSubnet | undefined => {
  const { id, cidr, gateway_ip: gateway, allocation_pools: pools } = subnet;
  const { ipv6_address_mode: mode } = subnet;
  const block = parseBlock(cidr);
  const isSlaac = mode === 'slaac' || mode === 'dhcpv6-stateless';
  return block && { id, cidr, block, gateway: gateway ?? undefined, pools, isSlaac };
};

const poolsOf = ({ pools }: PlannedSubnet): string =>
  pools.map(({ start, end }) => `${start}-${end}`).join(', ');

/**
 * What is wrong with addresses that a pod fixes. Neutron itself gives any of the subnet that no
 * port has, the gateway's as well.
 */
export const fixedProblem = (
  { subnets }: NeutronPlan,
  fixed: readonly string[],
): string | undefined => {
  const used = new Set<string>();
  for (const text of fixed) {
    const subnet = subnets.find((one) => isIn(one.block, text));
    if (subnet === undefined) return `${text} is not in its subnets`;
    if (subnet.isSlaac) return `addresses of ${subnet.cidr} follow from MACs`;
    if (!isInPools(subnet, text)) return `${text} is not in ${poolsOf(subnet)}`;
    if (used.has(subnet.id)) return `${fixed.join(' and ')} are of one subnet`;
    used.add(subnet.id);
  }
  return undefined;
};

const isIn = (block: Block, text: string): boolean => {
  const address = parseAddress(text);
  return address !== undefined && holdsBlock(block, blockOfOne(address));
};

const isInPools = ({ pools, gateway }: PlannedSubnet, text: string): boolean => {
  const bits = parseAddress(text)?.bits;
  if (bits === undefined) return false;
  if (gateway !== undefined && spelling(gateway) === spelling(text)) return false;
  return pools.some(({ start, end }) => {
    const [first, last] = [parseAddress(start)?.bits, parseAddress(end)?.bits];
    return first !== undefined && last !== undefined && first <= bits && bits <= last;
  });
};

/** Whether the port of a pool is as one that would be made now. `plan`: undefined: not known. */
export const isAsPlanned = (
  { metadata, spec: { addresses } }: NetworkPort,
  network: ManagedNetwork,
  plan: NeutronPlan | undefined,
): boolean => {
  // It is of a ManagedNetwork of that name before, which may have been another in Neutron.
  if (Date.parse(metadata.creationTimestamp) < Date.parse(network.metadata.creationTimestamp))
    return false;
  if (!plan || addresses.length === 0) return true;
  const has = ({ block }: PlannedSubnet): boolean => addresses.some((text) => isIn(block, text));
  return addresses.length === plan.subnets.length && plan.subnets.every(has);
};

/** The addresses that it has already, and one more of each other subnet. */
export const fixedIpsOf = (
  { subnets }: NeutronPlan,
  addresses: readonly string[],
): NewPort['fixed_ips'] =>
  subnets.map(({ id, block, isSlaac }) => {
    const address = isSlaac ? undefined : addresses.find((text) => isIn(block, text));
    return { subnet_id: id, ...(address !== undefined && { ip_address: address }) };
  });

/** In the order of the subnets; Neutron sorts them by address. */
export const addressesIn = (
  { subnets }: NeutronPlan,
  { fixed_ips: ips }: Pick<MadePort, 'fixed_ips'>,
): string[] =>
  subnets.flatMap(({ id }) => {
    const found = ips.find(({ subnet_id: of }) => of === id);
    return found ? [spelling(found.ip_address)] : [];
  });

export const gatewaysOf = ({ subnets }: NeutronPlan): string[] =>
  subnets.flatMap(({ gateway }) => gateway ?? []);
