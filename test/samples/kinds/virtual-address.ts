/** Samples of VirtualAddress, which ICN does not have. */
import type { Samples } from '../samples.ts';
import * as uci from '../uci-table.ts';

const named = (name: string, addresses: unknown): string[] =>
  uci.list(addresses).map((_, index) => `sdewan_vip_${uci.mapped(name)}_${index + 1}`);

export const samples: Samples = {
  kind: 'VirtualAddress',
  ofIcn: [],
  rendered: [
    { name: 'lan-gateway', spec: { network: 'ovn-net1', addresses: ['192.168.1.1/24'] } },
    {
      name: 'v6',
      spec: {
        interface: 'eth0',
        addresses: ['2001:db8::1/64', 'fe80::1'],
        virtualRouterId: 7,
        advertInterval: 2,
        peers: 'multicast',
      },
    },
  ],
  accepted: {
    'an address alone': { spec: { network: 'ovn-net1', addresses: ['192.168.1.1'] } },
    'digits as text': {
      spec: { network: 'ovn-net1', addresses: ['192.168.1.1'], virtualRouterId: '255' },
    },
  },
  refused: {
    'no place': { spec: { addresses: ['192.168.1.1'] }, server: 'is required without interface' },
    'two places': {
      spec: { network: 'ovn-net1', interface: 'net1', addresses: ['192.168.1.1'] },
      server: 'must be absent where network is given',
    },
    'no addresses': {
      spec: { network: 'ovn-net1', addresses: [] },
      server: 'spec.addresses in body should have at least 1 items',
    },
    'addresses of two families': {
      spec: { network: 'ovn-net1', addresses: ['192.168.1.1', '2001:db8::1'] },
      server: 'IPv4 and IPv6 need a VirtualAddress each',
    },
    'an address with a leading zero': {
      spec: { network: 'ovn-net1', addresses: ['010.0.0.1'] },
      agent: 'spec.addresses[0]: must be an IPv4 or IPv6 address that an interface can have',
    },
    'an address of a group': {
      spec: { network: 'ovn-net1', addresses: ['192.168.1.1', '224.0.0.18'] },
      agent: 'spec.addresses[1]: must be an IPv4 or IPv6 address that an interface can have',
    },
    'a prefix without bits': {
      spec: { network: 'ovn-net1', addresses: ['192.168.1.1/0'] },
      agent: 'spec.addresses[0]: must be an IPv4 or IPv6 address that an interface can have',
    },
    'a virtual router that VRRP does not have': {
      spec: { network: 'ovn-net1', addresses: ['192.168.1.1'], virtualRouterId: 256 },
      server: 'must be a whole number from 1 to 255',
    },
  },
  fields: {
    section: (name) => `sdewan_vip_${uci.mapped(name)}`,
    type: 'vrrp_instance',
    // As a pod to which no coordinator has given a distance: 200 less three times 20.
    always: (name, { virtualRouterId = '51', advertInterval = '1' }) => ({
      name: `sdewan_vip_${uci.mapped(name)}`,
      state: 'BACKUP',
      priority: '140',
      virtual_router_id: String(virtualRouterId),
      advert_int: String(advertInterval),
    }),
    special: {
      network: (value) => ({ interface: uci.INTERFACES[String(value)] }),
      addresses: (value, name) => ({ virtual_ipaddress: named(name, value) }),
      virtualRouterId: uci.nothing,
      advertInterval: uci.nothing,
      peers: uci.nothing,
    },
  },
  life: {
    name: 'k-vip',
    spec: { network: 'ovn-net1', addresses: ['192.168.77.1/24'], virtualRouterId: 7 },
    changed: { network: 'ovn-net1', addresses: ['192.168.78.1/24'], virtualRouterId: 7 },
    shows: ['keepalived.sdewan_vip_k_vip_1 address', '192.168.77.1/24', '192.168.78.1/24'],
  },
  // keepalived holds the address where no other pod is nearer, and the kernel makes the route of
  // it.
  kernel: {
    fw4: {
      created: [/^route 192\.168\.77\.0\/24 dev net1 .* src 192\.168\.77\.1$/],
      changed: [/^route 192\.168\.78\.0\/24 dev net1 .* src 192\.168\.78\.1$/],
    },
  },
  texts: {
    icn: String.raw`# VirtualAddress/lan-gateway: UnsupportedByDriver: kind: ICN's REST API does not support VirtualAddress; use driver ubus
# VirtualAddress/v6: UnsupportedByDriver: kind: ICN's REST API does not support VirtualAddress; use driver ubus
`,
    uci: String.raw`package keepalived
ipaddress sdewan_vip_lan_gateway_1 { name: sdewan_vip_lan_gateway_1, address: 192.168.1.1/24 }
vrrp_instance sdewan_vip_lan_gateway { name: sdewan_vip_lan_gateway, state: BACKUP, interface: net1, virtual_router_id: '51', priority: '140', advert_int: '1', virtual_ipaddress: [ sdewan_vip_lan_gateway_1 ] }
ipaddress sdewan_vip_v6_1 { name: sdewan_vip_v6_1, address: 2001:db8::1/64 }
ipaddress sdewan_vip_v6_2 { name: sdewan_vip_v6_2, address: fe80::1 }
vrrp_instance sdewan_vip_v6 { name: sdewan_vip_v6, state: BACKUP, interface: eth0, virtual_router_id: '7', priority: '140', advert_int: '2', virtual_ipaddress: [ sdewan_vip_v6_1, sdewan_vip_v6_2 ] }
`,
  },
};
