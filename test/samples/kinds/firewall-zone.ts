/** Samples of FirewallZone. */
import { inFirewall } from '../../openwrt/checks/seed-rules.ts';
import { zone } from '../../stack/rules.ts';
import type { Samples } from '../samples.ts';
import * as uci from '../uci-table.ts';

export const samples: Samples = {
  kind: 'FirewallZone',
  ofIcn: [
    {
      name: 'lan1',
      spec: {
        network: ['ovn-net1'],
        input: 'ACCEPT',
        output: 'ACCEPT',
        forward: 'REJECT',
        masq: '1',
        mtu_fix: '1',
      },
    },
    { name: 'wan1', spec: { network: ['ovn-net2'], input: 'REJECT' } },
  ],
  rendered: [
    {
      name: 'full-zone',
      spec: {
        network: ['ovn-net1', 'ovn-priv-net'],
        masq: 1,
        masq_src: ['!10.0.0.0/8', '192.168.0.0/16'],
        masq_dest: ['!2001:db8::/32'],
        masq_allow_invalid: '1',
        mtu_fix: 1,
        input: 'ACCEPT',
        forward: 'DROP',
        output: 'REJECT',
        family: 'any',
        subnet: ['10.1.2.0/24', 'fd00::/8'],
        extra_src: '-m policy --dir in --pol none',
        extra_dest: '-m policy --dir out --pol none',
      },
    },
    {
      name: 'icn',
      spec: { network: ['ovn-net2'], etra_dest: '-m comment --comment \'its "own" spelling\'' },
    },
    { name: 'lan1-2', spec: { network: ['ovn-net1'] } },
    {
      name: 'lan1-3',
      spec: {
        network: ['ovn-net1', 'ovn-priv-net'],
        input: 'ACCEPT',
        output: 'ACCEPT',
        forward: 'DROP',
        masq: '1',
        masq_src: ['192.168.0.0/16', '!10.0.0.0/8'],
        masq_dest: ['!172.16.0.0/12'],
        masq_allow_invalid: '1',
        mtu_fix: '1',
        family: 'ipv4',
        subnet: ['10.1.2.0/24'],
        extra_src: '-m policy --dir in --pol none',
      },
    },
  ],
  accepted: {
    'a zone name of eleven characters': {
      name: 'abcdefghijk',
      spec: { network: ['ovn-net1'], masq: 1, mtu_fix: '0' },
    },
    'a negated network in a list': {
      name: 'z',
      spec: { network: ['n'], masq_src: ['!10.0.0.0/8', '192.168.0.0/255.255.0.0'] },
    },
  },
  refused: {
    'a zone name of twelve characters': {
      name: 'abcdefghijkl',
      spec: { network: ['ovn-net1'] },
      server: 'the name must have at most 11 characters',
    },
    'a zone name that begins with a digit': {
      name: '1lan',
      spec: { network: ['ovn-net1'] },
      server: 'the name must begin with a letter',
    },
    'a zone without networks': {
      name: 'z',
      spec: { network: [] },
      server: 'spec.network in body should have at least 1 items',
    },
    'a zone without a spec': { name: 'z', spec: undefined, server: 'spec: Required value' },
    'two spellings of one field': {
      name: 'z',
      spec: { network: ['n'], etra_dest: 'a', extra_dest: 'b' },
      server: 'is another spelling of extra_dest',
    },
    'a flag that is neither 0 nor 1': {
      name: 'z',
      spec: { network: ['n'], masq: 2 },
      server: 'must be 0 or 1',
    },
  },
  fields: {
    section: (name) => `sdewan_zone_${uci.mapped(name)}`,
    type: 'zone',
    always: (name) => ({ name: uci.mapped(name) }),
    special: {
      network: (value) => ({
        network: uci.list(value).map((name) => uci.INTERFACES[String(name)]),
      }),
      etra_dest: (value) => ({ extra_dest: value }),
    },
  },
  icnFields: {
    file: 'firewall',
    type: 'zone',
    special: {
      network: (value) => ({
        network: uci.list(value).map((name) => uci.INTERFACES[String(name)]),
      }),
    },
  },
  life: {
    name: 'kzone',
    spec: { network: ['ovn-net1'], input: 'ACCEPT' },
    changed: { network: ['ovn-net1'], input: 'DROP' },
    shows: ['firewall.sdewan_zone_kzone input', 'ACCEPT', 'DROP'],
  },
  kernel: {
    fw4: {
      created: [/^nft chain input_kzone: jump accept_from_kzone$/],
      changed: [/^nft chain input_kzone: jump drop_from_kzone$/],
    },
    fw3: {
      created: [/^iptables filter: -A zone_kzone_input .*-j zone_kzone_src_ACCEPT$/],
      changed: [/^iptables filter: -A zone_kzone_input .*-j zone_kzone_src_DROP$/],
    },
  },
  seedLife: [
    {
      rule: zone('wan1', 'ovn-net2'),
      changed: { network: ['ovn-net2'], input: 'REJECT' },
      shows: (is) => inFirewall('zone', { name: 'wan1', input: is ? 'REJECT' : 'ACCEPT' }),
    },
    {
      rule: zone('lan1', 'ovn-net1'),
      changed: { network: ['ovn-net1'], input: 'DROP' },
      shows: (is) => inFirewall('zone', { name: 'lan1', input: is ? 'DROP' : 'ACCEPT' }),
    },
  ],
  texts: {
    icn: String.raw`# FirewallZone/full-zone: UnsupportedByDriver: spec.masq_dest: ICN's REST API takes IPv4 addresses and networks here
# FirewallZone/icn: UnsupportedByDriver: spec.etra_dest: ICN's REST API ignores it

package firewall
zone { name: lan1, network: [ net1 ], masq: '1', mtu_fix: '1', input: ACCEPT, forward: REJECT, output: ACCEPT }
zone { name: wan1, network: [ net2 ], input: REJECT }
zone { name: lan1_2, network: [ net1 ] }
zone { name: lan1_3, network: [ net1, net0 ], masq: '1', masq_src: [ 192.168.0.0/16, '!10.0.0.0/8' ], masq_dest: [ '!172.16.0.0/12' ], masq_allow_invalid: '1', mtu_fix: '1', input: ACCEPT, forward: DROP, output: ACCEPT, family: ipv4, subnet: [ 10.1.2.0/24 ], extra_src: -m policy --dir in --pol none }
`,
    uci: String.raw`package firewall
zone sdewan_zone_lan1 { name: lan1, network: [ net1 ], input: ACCEPT, output: ACCEPT, forward: REJECT, masq: '1', mtu_fix: '1' }
zone sdewan_zone_wan1 { name: wan1, network: [ net2 ], input: REJECT }
zone sdewan_zone_full_zone { name: full_zone, network: [ net1, net0 ], input: ACCEPT, output: REJECT, forward: DROP, masq: '1', masq_src: [ '!10.0.0.0/8', 192.168.0.0/16 ], masq_dest: [ '!2001:db8::/32' ], masq_allow_invalid: '1', mtu_fix: '1', family: any, subnet: [ 10.1.2.0/24, fd00::/8 ], extra_src: -m policy --dir in --pol none, extra_dest: -m policy --dir out --pol none }
zone sdewan_zone_icn { name: icn, network: [ net2 ], extra_dest: -m comment --comment 'its "own" spelling' }
zone sdewan_zone_lan1_2 { name: lan1_2, network: [ net1 ] }
zone sdewan_zone_lan1_3 { name: lan1_3, network: [ net1, net0 ], input: ACCEPT, output: ACCEPT, forward: DROP, masq: '1', masq_src: [ 192.168.0.0/16, '!10.0.0.0/8' ], masq_dest: [ '!172.16.0.0/12' ], masq_allow_invalid: '1', mtu_fix: '1', family: ipv4, subnet: [ 10.1.2.0/24 ], extra_src: -m policy --dir in --pol none }
`,
  },
};
