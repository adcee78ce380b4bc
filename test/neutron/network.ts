/**
 * The nine pods of the cases as ports of a network of a real Neutron, and what OVN makes of their
 * packets.
 */
import { prefixOf } from '../../coordinator/neutron/names.ts';
import type { RunningNeutron } from './harness/neutron.ts';
import { addressOfPod, ALL_PAIRS, PODS, type Probe } from '../kernel/policy/cases.ts';

export type PodNetwork = {
  id: string;
  /** By pod, e.g. `x/a`. */
  ports: ReadonlyMap<string, { id: string; mac: string }>;
  /** `from>to IPv4` of all pairs whose first packet does not arrive. */
  denied: (probe: Pick<Probe, 'protocol' | 'port'>) => Promise<string[]>;
};

export const FAMILIES = [4, 6] as const;

type MadePort = { name: string; id: string; mac_address: string };

/** `groups`: of others, that each port has. */
export const createNetwork = async (
  { call, ovn }: RunningNeutron,
  cluster: string,
  { pods = PODS, groups = [] }: { pods?: readonly string[]; groups?: readonly string[] } = {},
): Promise<PodNetwork> => {
  const { network } = await call<{ network: { id: string } }>('POST', 'networks', {
    network: { name: 'pods' },
  });
  const subnet = async (version: 4 | 6, cidr: string): Promise<string> => {
    const body = { network_id: network.id, ip_version: version, cidr, gateway_ip: null };
    const made = await call<{ subnet: { id: string } }>('POST', 'subnets', { subnet: body });
    return made.subnet.id;
  };
  const subnets = { 4: await subnet(4, '10.1.0.0/16'), 6: await subnet(6, 'fd00:1::/32') };
  const made = await call<{ ports: MadePort[] }>('POST', 'ports', {
    ports: pods.map((pod) => ({
      network_id: network.id,
      name: `${prefixOf(cluster)}${pod}`,
      security_groups: groups,
      fixed_ips: FAMILIES.map((family) => ({
        subnet_id: subnets[family],
        ip_address: addressOfPod(pod, family),
      })),
    })),
  });
  const ports = new Map<string, { id: string; mac: string }>(
    made.ports.map((port) => [
      port.name.slice(prefixOf(cluster).length),
      { id: port.id, mac: port.mac_address },
    ]),
  );
  const packetOf = (pair: string, family: 4 | 6, probe: Pick<Probe, 'protocol' | 'port'>) => {
    const [from = '', to = ''] = pair.split('>');
    const [source, target] = [ports.get(from), ports.get(to)];
    if (!source || !target) throw new Error(`no port for ${pair}`);
    return {
      network: network.id,
      from: { port: source.id, mac: source.mac, address: addressOfPod(from, family) },
      to: { mac: target.mac, address: addressOfPod(to, family) },
      ...probe,
    };
  };
  const all = FAMILIES.flatMap((family) =>
    ALL_PAIRS.filter((pair) => pair.split('>').every((pod) => ports.has(pod))).map((pair) => ({
      pair,
      family,
    })),
  );
  return {
    id: network.id,
    ports,
    denied: async (probe) => {
      const arrived = await ovn.arrive(
        all.map(({ pair, family }) => packetOf(pair, family, probe)),
      );
      return all
        .filter((_, at) => arrived[at] !== true)
        .map(({ pair, family }) => `${pair} IPv${family}`)
        .sort();
    },
  };
};

export const inBothFamilies = (pairs: ReadonlySet<string>): string[] =>
  [...pairs].flatMap((pair) => FAMILIES.map((family) => `${pair} IPv${family}`)).sort();
