/** A network of Neutron in memory: as much of it as ports rest on, with answers that are lost. */
import type { NetworkPort } from '#shared/resources/other-kinds/network-port.ts';
import { NeutronError } from '../../../neutron/errors.ts';
import type { MadePort, NeutronPorts, NewPort } from '../../../neutron/ports.ts';
import type { PortCalls } from './ensure.ts';
import { planInNeutron } from './plan.ts';
import type { NeutronPlan } from '../subnets.ts';

export const CLUSTER = '0a1b2c3d';
export const NETWORK = '11111111-1111-4111-8111-111111111111';
export const MINUTE = 60_000;

export const SUBNET = {
  id: 's4',
  cidr: '10.70.0.0/24',
  ip_version: 4 as const,
  gateway_ip: '10.70.0.1',
  allocation_pools: [{ start: '10.70.0.10', end: '10.70.0.60' }],
};

export const OTHER_SUBNET = {
  ...SUBNET,
  id: 'other',
  cidr: '10.71.0.0/24',
  gateway_ip: '10.71.0.1',
  allocation_pools: [{ start: '10.71.0.10', end: '10.71.0.60' }],
};

export const neutronPlan = (): NeutronPlan => {
  const found = {
    project: 'ours',
    network: { id: NETWORK, project_id: 'ours', mtu: 1_442, port_security_enabled: true },
    subnets: [SUBNET],
  };
  const plan = planInNeutron({ network: NETWORK }, found);
  if ('problem' in plan) throw new Error(plan.problem);
  return plan.neutron;
};

export const neutronPort = (
  uid: string,
  mac: string,
  some: { addresses?: string[]; portID?: string; releasedAt?: string; network?: string } = {},
): NetworkPort => {
  const { addresses = [], network = 'lan', ...status } = some;
  return {
    apiVersion: 'network.sdewan.akraino.org/v1alpha1',
    kind: 'NetworkPort',
    metadata: {
      name: `${network}-${mac.replaceAll(':', '')}`,
      namespace: '',
      uid,
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
    },
    spec: {
      network,
      mac,
      addresses,
      claim: { namespace: 'edge', pod: 'p', uid: 'p', interface: 'net0' },
      managed: true,
    },
    status,
  };
};

/** `late`: Neutron does it when `settle` is called, and the answer is lost. */
export type LostAnswer = 'before' | 'after' | 'late' | undefined;

export const refusedWith = (type: string, status = 409): NeutronError =>
  new NeutronError('a call', type, { status, type });
const LOST = () => new NeutronError('a call', 'no answer', { status: 0, type: 'Timeout' });

export const createNetworkInMemory = (quota = Infinity) => {
  const ports = new Map<string, MadePort>();
  const late: (() => void)[] = [];
  let made = 0;
  let lose: LostAnswer;

  const insert = ({ name, mac_address: mac, fixed_ips: asked }: NewPort): MadePort => {
    if (ports.size >= quota) throw refusedWith('OverQuota');
    if ([...ports.values()].some((port) => port.mac_address === mac))
      throw refusedWith('MacAddressInUse');
    made += 1;
    const id = `port-${made}`;
    const ips = asked.map(({ subnet_id: of, ip_address: address }) => ({
      subnet_id: of,
      ip_address: address ?? `10.7${of === OTHER_SUBNET.id ? 1 : 0}.0.${9 + made}`,
    }));
    const port = { id, name, mac_address: mac, status: 'DOWN', fixed_ips: ips };
    ports.set(id, port);
    return port;
  };
  const call = async <T>(act: () => T): Promise<T> => {
    const how = lose;
    lose = undefined;
    if (how === 'before') throw LOST();
    if (how === 'late') late.push(() => void act());
    if (how === 'late') throw LOST();
    const answer = act();
    if (how === 'after') throw LOST();
    return answer;
  };
  const calls: PortCalls & Pick<NeutronPorts, 'createPorts'> = {
    createPorts: (wanted) =>
      call(() => {
        if (ports.size + wanted.length > quota) throw refusedWith('OverQuota');
        return wanted.map(insert);
      }),
    createPort: (port) => call(() => insert(port)),
    deletePort: (id) => call(() => void ports.delete(id)),
    renamePort: (id, name) =>
      call(() => {
        const port = ports.get(id);
        if (port) ports.set(id, { ...port, name });
      }),
    portsWhere: ({ mac }) =>
      call(() =>
        [...ports.values()].filter((port) => mac === undefined || port.mac_address === mac),
      ),
  };
  return {
    calls,
    ports,
    /** The answer of the next call. */
    lose: (how: LostAnswer): void => {
      lose = how;
    },
    /** What was at work is done. */
    settle: (): void => {
      for (const act of late.splice(0)) {
        try {
          act();
        } catch (error) {
          if (!(error instanceof NeutronError)) throw error;
        }
      }
    },
  };
};
