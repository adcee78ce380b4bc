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

config route
	option name 'route1'
	option dst '192.168.2.0/24'
	option dev 'eth0'
	option dev_val 'eth0'
	option table 'default'

config route
	option name 'default_cnf'
	option dst 'default'
	option gw '10.1.2.1'
	option dev 'net1'
	option dev_val 'net1'
	option table 'cnf'

config route
	option name 'by_gateway'
	option dst '10.40.0.0/16'
	option gw '172.16.30.1'
	option dev 'net1'
	option dev_val 'net1'
	option table 'cnf'

config route
	option name 'on_link_2'
	option dst '10.41.0.0/16'
	option dev 'net2'
	option dev_val 'net2'
	option table 'default'
`,
    uci: String.raw`package network

config route 'sdewan_route_route1'
	option interface 'if_eth0'
	option target '192.168.2.0/24'

config route 'sdewan_route_default_cnf'
	option interface 'if_net1'
	option target '0.0.0.0/0'
	option gateway '10.1.2.1'
	option table '40'

config route6 'sdewan_route_on_link'
	option interface 'if_net2'
	option target '2001:db8::/32'

config route 'sdewan_route_by_gateway'
	option interface 'if_net1'
	option target '10.40.0.0/16'
	option gateway '172.16.30.1'
	option table '40'

config route 'sdewan_route_on_link_2'
	option interface 'if_net2'
	option target '10.41.0.0/16'

`,
  },
};
