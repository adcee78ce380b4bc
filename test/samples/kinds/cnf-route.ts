/** Samples of CNFRoute. */
import * as icn from '../icn-table.ts';
import type { Samples } from '../samples.ts';
import * as uci from '../uci-table.ts';

export const samples: Samples = {
  kind: 'CNFRoute',
  ofIcn: [
    { name: 'route1', spec: { dst: '192.168.2.0/24', gw: '', dev: '#default', table: 'default' } },
  ],
  rendered: [
    {
      name: 'default-cnf',
      spec: { dst: 'default', gw: '10.1.2.1', dev: '#10.1.2.3', table: 'cnf' },
    },
    { name: 'on-link', spec: { dst: '2001:db8::/32', dev: 'net2', table: 'default' } },
    {
      name: 'by-gateway',
      spec: { dst: '10.40.0.0/16', gw: '172.16.30.1', dev: '#10.1.2.3', table: 'cnf' },
    },
    { name: 'on-link-2', spec: { dst: '10.41.0.0/16', dev: 'net2', table: 'default' } },
  ],
  accepted: {
    'a route by the default device': {
      spec: { dst: 'default', gw: '10.0.0.1', dev: '#default', table: 'cnf' },
    },
  },
  refused: {
    'a route of two address families': {
      spec: { dst: '10.0.0.0/8', gw: 'fd00::1', dev: 'eth0' },
      server: 'must be of the same address family as dst',
    },
    'a device name that Linux does not take': {
      spec: { dst: 'default', dev: 'a-device-name-of-17' },
      server: 'must be a network device such as eth0',
    },
    'a prefix length with a leading zero, which netifd reads as octal': {
      spec: { dst: '10.0.0.0/010', dev: 'eth0' },
      server: 'must be default, an IPv4 or IPv6 address',
    },
    'an IPv4 mask with a gap, of which netifd takes a part': {
      spec: { dst: '10.0.0.0/255.0.255.0', dev: 'eth0' },
      agent: 'spec.dst: must be default, an IPv4 or IPv6 address',
    },
  },
  fields: {
    section: (name) => `sdewan_route_${uci.mapped(name)}`,
    type: ({ dst }: uci.Spec) => (String(dst).includes(':') ? 'route6' : 'route'),
    special: {
      dst: (value) => ({ target: uci.destination(value) }),
      gw: (value) => ({ gateway: value }),
      dev: (value) => ({ interface: `if_${uci.device(value)}` }),
      table: (value) => (value === 'cnf' ? { table: '40' } : {}),
    },
  },
  icnFields: { file: 'route-cnf', type: 'route', special: { dev: icn.found('dev') } },
  life: {
    name: 'k-route',
    spec: { dst: '10.8.0.0/16', dev: 'net1', table: 'cnf' },
    changed: { dst: '10.9.0.0/16', dev: 'net1', table: 'cnf' },
    shows: ['network.sdewan_route_k_route target', '10.8.0.0/16', '10.9.0.0/16'],
  },
  kernel: {
    fw4: {
      created: [/^route 10\.8\.0\.0\/16 dev net1 table 40/],
      changed: [/^route 10\.9\.0\.0\/16 dev net1 table 40/],
    },
  },
  texts: {
    icn: String.raw`# CNFRoute/on-link: UnsupportedByDriver: spec.dst: ICN's REST API takes one IPv4 address or network here

package route-cnf
route { name: route1, dst: 192.168.2.0/24, dev: eth0, dev_val: eth0, table: default }
route { name: default_cnf, dst: default, gw: 10.1.2.1, dev: net1, dev_val: net1, table: cnf }
route { name: by_gateway, dst: 10.40.0.0/16, gw: 172.16.30.1, dev: net1, dev_val: net1, table: cnf }
route { name: on_link_2, dst: 10.41.0.0/16, dev: net2, dev_val: net2, table: default }
`,
    uci: String.raw`package network
route sdewan_route_route1 { interface: if_eth0, target: 192.168.2.0/24 }
route sdewan_route_default_cnf { interface: if_net1, target: 0.0.0.0/0, gateway: 10.1.2.1, table: '40' }
route6 sdewan_route_on_link { interface: if_net2, target: 2001:db8::/32 }
route sdewan_route_by_gateway { interface: if_net1, target: 10.40.0.0/16, gateway: 172.16.30.1, table: '40' }
route sdewan_route_on_link_2 { interface: if_net2, target: 10.41.0.0/16 }
`,
  },
};
