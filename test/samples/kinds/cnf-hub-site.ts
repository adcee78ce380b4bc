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
nat { name: hubsite1snat0, src_dip: 10.1.2.3, dest: net1, dest_ip: 10.20.0.0/16, target: SNAT }
nat { name: devicesnat0, src_dip: 10.1.2.3, dest: net1, dest_ip: 10.21.0.0/16, target: SNAT }

package route-cnf
route { name: hubsite1route0, dst: 10.20.0.0/16, dev: net1, dev_val: net1, table: cnf }
route { name: hubroute0, dst: 10.20.0.0/16, dev: vti_10.1.2.3, dev_val: vti_10.1.2.3, table: default }
route { name: hubroute1, dst: 10.30.0.1, dev: vti_10.1.2.3, dev_val: vti_10.1.2.3, table: default }
route { name: deviceroute0, dst: 10.21.0.0/16, dev: net1, dev_val: net1, table: cnf }
`,
    uci: String.raw`package firewall
nat sdewan_nat_hubsite1snat0 { name: hubsite1snat0, target: SNAT, device: net1, proto: all, dest_ip: 10.20.0.0/16, snat_ip: 10.1.2.3 }
nat sdewan_nat_devicesnat0 { name: devicesnat0, target: SNAT, device: net1, proto: all, dest_ip: 10.21.0.0/16, snat_ip: 10.1.2.3 }

package network
route sdewan_route_hubsite1route0 { interface: if_net1, target: 10.20.0.0/16, table: '40' }
route sdewan_route_hubroute0 { interface: if_vti_10.1.2.3, target: 10.20.0.0/16 }
route sdewan_route_hubroute1 { interface: if_vti_10.1.2.3, target: 10.30.0.1 }
route sdewan_route_deviceroute0 { interface: if_net1, target: 10.21.0.0/16, table: '40' }
`,
  },
};
