/** What the real API answered (test/contract/recordings/icn-rest-more), and how it is reported. */
import { describe, expect, it } from 'vitest';
import { interfaceSchema, type Information } from '#shared/protocol/information.ts';
import type { UciSection } from '#shared/uci/model.ts';
import { interfacesOf, readIcnInformation, routesOf, tunnelsOf } from './information.ts';

const NEVER = new AbortController().signal;

const remote = (name: string, ...connections: object[]): UciSection => ({
  name,
  anonymous: false,
  type: 'remotes',
  options: { connections: connections.map((connection) => JSON.stringify(connection)) },
});
const [local_subnet, remote_subnet] = ['192.168.1.0/24', '192.168.0.1/32'];
const two = [remote('site1', { name: 'c1', local_subnet, remote_subnet }, { name: 'c2' })];
const carrying = { connection: '192.168.1.0/24 === 192.168.0.1/32' };
const count = (up: string, connecting = '0') => ({ up, connecting });
const [UP, DOWN, UNKNOWN] = ['ESTABLISHED', 'DOWN', 'UNKNOWN'];

describe("information from ICN's REST", () => {
  it('lists devices with their addresses as interfaces', () => {
    const eth0 = {
      ip_address: ['192.168.1.1'],
      name: 'eth0',
      send_packets: '0',
      status: 'UP',
      ip6_address: ['fe80::d891:37ff:fe89:2831/64'],
      mac_address: 'DA:91:37:89:28:31',
      received_packets: '4',
    };
    const addresses = ['192.168.1.1', 'fe80::d891:37ff:fe89:2831/64'];
    expect(interfacesOf([eth0])).toEqual([{ name: 'eth0', device: 'eth0', up: true, addresses }]);
  });

  it('fits into a report with devices that have any number of addresses, of any length', () => {
    const addresses = Array.from({ length: 100 }, (_, at) => `fe80::${at}`.padEnd(200, '0'));
    const [device] = interfacesOf([{ name: 'n', ip_address: addresses, ip6_address: addresses }]);
    expect(device?.addresses).toHaveLength(16);
    expect(interfaceSchema.safeParse(device).error).toBeUndefined();
  });

  it('lists the routes of table main, without lines that are no routes', () => {
    const link = { proto: 'kernel', scope: 'link', src: '10.10.70.39' };
    const item = [
      { device: 'net1', destination: 'default', gateway: '10.10.70.1' },
      { ...link, destination: '10.10.70.0/24', device: 'net1' },
      { destination: '10.96.0.0/16' },
      { device: 'net1', destination: '\tnexthop', gateway: '10.10.70.1' },
      { device: 'net2', destination: '10.97.0.1', metric: '5' },
    ];
    const blackhole = { item: [{ destination: 'blackhole' }] };
    expect(routesOf({ main: { item }, 40: blackhole, default: { item: [] } })).toEqual([
      { target: '0.0.0.0/0', gateway: '10.10.70.1', interface: 'net1' },
      { target: '10.10.70.0/24', interface: 'net1' },
      { target: '10.97.0.1/32', interface: 'net2', metric: 5 },
    ]);
  });

  it.each<[string, object | undefined, string[]]>([
    ['none up', { details: [count('0')] }, [DOWN, DOWN]],
    ['no word, as when no process runs', { details: [] }, [DOWN, DOWN]],
    ['one up, by its networks', { details: [count('1', '1'), carrying] }, [UP, UNKNOWN]],
    ['all up', { details: [count('2')] }, [UP, UP]],
    ['a failure', undefined, [UNKNOWN, UNKNOWN]],
  ])('tells of two tunnels: %s', (_what, status, expected) => {
    expect(tunnelsOf(two, status)).toEqual(
      expected.map((state, at) => ({ name: `site1-c${at + 1}`, up: state === UP, state })),
    );
  });

  it('lists no tunnels where there are none', () => {
    expect(tunnelsOf([], { details: [], InitConnection: 'success' })).toEqual([]);
  });

  it('is empty where a module fails or answers something else', async () => {
    const answers = [undefined, 'x', { status: 'x' }, { status: [] }, { status: { main: [] } }];
    const lists = { interfaces: [], routes: [], tunnels: [], wans: [] };
    const nothing: Information = { firewall: 'fw3', ...lists, leftOut: 0 };
    for (const answer of answers)
      expect(await readIcnInformation({ look: async () => answer }, [], NEVER)).toEqual(nothing);
  });
});
