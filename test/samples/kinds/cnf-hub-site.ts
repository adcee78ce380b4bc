/** Samples of CNFHubSite. */
import type { Samples } from '../samples.ts';
import * as uci from '../uci-table.ts';

export const samples: Samples = {
  kind: 'CNFHubSite',
  ofIcn: [
    {
      name: 'hubsite1',
      spec: { type: 'Device', site: '', subnet: '10.20.0.0/16', hubip: '', devicepip: '10.1.2.3' },
    },
  ],
  rendered: [
    {
      name: 'hub',
      spec: {
        type: 'Hub',
        site: 'site.example.com',
        subnet: '10.20.0.0/16',
        hubip: '10.1.2.3',
        devicepip: '',
      },
    },
    { name: 'device', spec: { type: 'Device', subnet: '10.21.0.0/16', devicepip: '10.1.2.3' } },
  ],
  accepted: {},
  refused: {
    'a hub with a device name that is too long for Linux': {
      spec: { type: 'Hub', subnet: '10.0.0.0/8', hubip: '192.168.100.1' },
      server: 'at most 11 characters: Linux takes at most 15 characters',
    },
    'a hub site without destination': {
      spec: { type: 'Device', site: '', devicepip: '10.0.0.1' },
      server: 'site or subnet is required',
    },
  },
  fields: {
    section: (name) => `sdewan_route_${uci.mapped(name)}route0`,
    type: 'route',
    always: (_name, { type }) =>
      type === 'Hub' ? { interface: 'if_vti_10.1.2.3' } : { interface: 'if_net1', table: '40' },
    special: {
      type: uci.nothing,
      site: uci.nothing,
      subnet: (value) => ({ target: value }),
      hubip: uci.nothing,
      devicepip: uci.nothing,
    },
  },
  life: {
    name: 'k-hub',
    spec: { type: 'Device', subnet: '10.20.0.0/16', devicepip: '127.0.0.1' },
    changed: { type: 'Device', subnet: '10.21.0.0/16', devicepip: '127.0.0.1' },
    shows: ['network.sdewan_route_k_hubroute0 target', '10.20.0.0/16', '10.21.0.0/16'],
  },
  kernel: {
    spec: { type: 'Device', subnet: '10.20.0.0/16', devicepip: '172.16.30.10' },
    changed: { type: 'Device', subnet: '10.21.0.0/16', devicepip: '172.16.30.10' },
    fw4: {
      created: [
        /^nft chain srcnat: oifname "net1" ip daddr 10\.20\.0\.0\/16 counter snat ip to 172\.16\.30\.10 /,
        /^route 10\.20\.0\.0\/16 dev net1 table 40 /,
      ],
      changed: [
        /^nft chain srcnat: oifname "net1" ip daddr 10\.21\.0\.0\/16 counter snat ip to 172\.16\.30\.10 /,
        /^route 10\.21\.0\.0\/16 dev net1 table 40 /,
      ],
    },
    fw3: {
      created: [
        /^iptables nat: -A POSTROUTING -d 10\.20\.0\.0\/16 -o net1 -j SNAT --to-source 172\.16\.30\.10$/,
        /^route 10\.20\.0\.0\/16 dev net1 table 40 /,
      ],
      changed: [
        /^iptables nat: -A POSTROUTING -d 10\.21\.0\.0\/16 -o net1 -j SNAT --to-source 172\.16\.30\.10$/,
        /^route 10\.21\.0\.0\/16 dev net1 table 40 /,
      ],
    },
  },
  texts: {
    icn: String.raw`package firewall-nat

config nat
	option name 'hubsite1snat0'
	option src_dip '10.1.2.3'
	option dest 'net1'
	option dest_ip '10.20.0.0/16'
	option target 'SNAT'

config nat
	option name 'devicesnat0'
	option src_dip '10.1.2.3'
	option dest 'net1'
	option dest_ip '10.21.0.0/16'
	option target 'SNAT'

package route-cnf

config route
	option name 'hubsite1route0'
	option dst '10.20.0.0/16'
	option dev 'net1'
	option dev_val 'net1'
	option table 'cnf'

config route
	option name 'hubroute0'
	option dst '10.20.0.0/16'
	option dev 'vti_10.1.2.3'
	option dev_val 'vti_10.1.2.3'
	option table 'default'

config route
	option name 'hubroute1'
	option dst '10.30.0.1'
	option dev 'vti_10.1.2.3'
	option dev_val 'vti_10.1.2.3'
	option table 'default'

config route
	option name 'deviceroute0'
	option dst '10.21.0.0/16'
	option dev 'net1'
	option dev_val 'net1'
	option table 'cnf'
`,
    uci: String.raw`package firewall

config nat 'sdewan_nat_hubsite1snat0'
	option name 'hubsite1snat0'
	option target 'SNAT'
	option device 'net1'
	option proto 'all'
	option dest_ip '10.20.0.0/16'
	option snat_ip '10.1.2.3'

config nat 'sdewan_nat_devicesnat0'
	option name 'devicesnat0'
	option target 'SNAT'
	option device 'net1'
	option proto 'all'
	option dest_ip '10.21.0.0/16'
	option snat_ip '10.1.2.3'


package network

config route 'sdewan_route_hubsite1route0'
	option interface 'if_net1'
	option target '10.20.0.0/16'
	option table '40'

config route 'sdewan_route_hubroute0'
	option interface 'if_vti_10.1.2.3'
	option target '10.20.0.0/16'

config route 'sdewan_route_hubroute1'
	option interface 'if_vti_10.1.2.3'
	option target '10.30.0.1'

config route 'sdewan_route_deviceroute0'
	option interface 'if_net1'
	option target '10.21.0.0/16'
	option table '40'

`,
  },
};
