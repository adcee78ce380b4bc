/** Samples of FirewallZone. */
import { inFirewall } from '../../judge/seed-rules.ts';
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
    'a zone without a spec': {
      name: 'z',
      spec: undefined,
      server: 'spec: Required value',
    },
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

config zone
	option name 'lan1'
	list network 'net1'
	option masq '1'
	option mtu_fix '1'
	option input 'ACCEPT'
	option forward 'REJECT'
	option output 'ACCEPT'

config zone
	option name 'wan1'
	list network 'net2'
	option input 'REJECT'

config zone
	option name 'lan1_2'
	list network 'net1'

config zone
	option name 'lan1_3'
	list network 'net1'
	list network 'net0'
	option masq '1'
	list masq_src '192.168.0.0/16'
	list masq_src '!10.0.0.0/8'
	list masq_dest '!172.16.0.0/12'
	option masq_allow_invalid '1'
	option mtu_fix '1'
	option input 'ACCEPT'
	option forward 'DROP'
	option output 'ACCEPT'
	option family 'ipv4'
	list subnet '10.1.2.0/24'
	option extra_src '-m policy --dir in --pol none'
`,
    uci: String.raw`package firewall

config zone 'sdewan_zone_lan1'
	option name 'lan1'
	list network 'net1'
	option input 'ACCEPT'
	option output 'ACCEPT'
	option forward 'REJECT'
	option masq '1'
	option mtu_fix '1'

config zone 'sdewan_zone_wan1'
	option name 'wan1'
	list network 'net2'
	option input 'REJECT'

config zone 'sdewan_zone_full_zone'
	option name 'full_zone'
	list network 'net1'
	list network 'net0'
	option input 'ACCEPT'
	option output 'REJECT'
	option forward 'DROP'
	option masq '1'
	list masq_src '!10.0.0.0/8'
	list masq_src '192.168.0.0/16'
	list masq_dest '!2001:db8::/32'
	option masq_allow_invalid '1'
	option mtu_fix '1'
	option family 'any'
	list subnet '10.1.2.0/24'
	list subnet 'fd00::/8'
	option extra_src '-m policy --dir in --pol none'
	option extra_dest '-m policy --dir out --pol none'

config zone 'sdewan_zone_icn'
	option name 'icn'
	list network 'net2'
	option extra_dest '-m comment --comment '\''its "own" spelling'\'''

config zone 'sdewan_zone_lan1_2'
	option name 'lan1_2'
	list network 'net1'

config zone 'sdewan_zone_lan1_3'
	option name 'lan1_3'
	list network 'net1'
	list network 'net0'
	option input 'ACCEPT'
	option output 'ACCEPT'
	option forward 'DROP'
	option masq '1'
	list masq_src '192.168.0.0/16'
	list masq_src '!10.0.0.0/8'
	list masq_dest '!172.16.0.0/12'
	option masq_allow_invalid '1'
	option mtu_fix '1'
	option family 'ipv4'
	list subnet '10.1.2.0/24'
	option extra_src '-m policy --dir in --pol none'

`,
  },
};
