/** Samples of FirewallSNAT. */
import { rule } from '../../stack/rules.ts';
import * as icn from '../icn-table.ts';
import { inFirewall } from '../../judge/seed-rules.ts';
import type { Samples } from '../samples.ts';
import * as uci from '../uci-table.ts';

export const samples: Samples = {
  kind: 'FirewallSNAT',
  ofIcn: [
    {
      name: 'snat-lan1',
      spec: { src_ip: '192.168.1.2', src_dip: '1.2.3.4', dest: 'wan1', proto: 'icmp' },
    },
  ],
  rendered: [
    {
      name: 'snat',
      spec: {
        name: 'snat',
        target: 'SNAT',
        src_ip: '!192.168.1.0/24',
        src_dip: '1.2.3.4',
        src_mac: '',
        src_port: '1024-65535',
        src_dport: '2000-3000',
        dest: 'wan',
        dest_ip: '8.8.8.8',
        dest_port: '!53',
        proto: 'udp tcp',
        mark: 1,
        family: 'ipv4',
      },
    },
    {
      name: 'snat-2',
      spec: {
        src: 'lan1',
        src_ip: '192.168.1.0/24',
        src_dip: '1.2.3.4',
        src_port: 1024,
        src_dport: 2000,
        dest: 'wan1',
        dest_ip: '8.8.8.8',
        dest_port: 53,
        proto: 'udp',
        mark: '0x1',
        family: 'ipv4',
      },
    },
  ],
  accepted: {},
  refused: {
    'SNAT without the new source': {
      spec: { dest: 'wan1' },
      server: 'is required',
    },
    'SNAT of a MAC address': {
      spec: { dest: 'wan1', src_dip: '1.2.3.4', src_mac: '00:11:22:33:44:55' },
      server: 'cannot be used with SNAT',
    },
    'SNAT to a network': {
      spec: { dest: 'wan1', src_dip: '1.2.3.0/24' },
      server: 'must be an IPv4 or IPv6 address without a mask',
    },
  },
  fields: uci.redirect('SNAT'),
  icnFields: icn.redirect('SNAT'),
  life: {
    name: 'k-snat',
    spec: { dest: 'kzone', src_dip: '1.2.3.4' },
    changed: { dest: 'kzone', src_dip: '1.2.3.5' },
    shows: ['firewall.sdewan_snat_k_snat src_dip', '1.2.3.4', '1.2.3.5'],
  },
  kernel: {
    fw4: {
      created: [/^nft chain srcnat_kzone: .*tcp counter snat ip to 1\.2\.3\.4 /],
      changed: [/^nft chain srcnat_kzone: .*tcp counter snat ip to 1\.2\.3\.5 /],
    },
    fw3: {
      created: [/^iptables nat: -A zone_kzone_postrouting -p tcp .*--to-source 1\.2\.3\.4$/],
      changed: [/^iptables nat: -A zone_kzone_postrouting -p tcp .*--to-source 1\.2\.3\.5$/],
    },
  },
  seedLife: [
    {
      rule: rule('FirewallSNAT', 'snat-1', {
        dest: 'wan1',
        src_ip: '10.7.0.0/16',
        src_dip: '1.2.3.4',
      }),
      changed: { dest: 'wan1', src_ip: '10.7.0.0/16', src_dip: '1.2.3.5' },
      shows: (is) =>
        inFirewall('redirect', {
          target: 'SNAT',
          src_ip: '10.7.0.0/16',
          src_dip: `1.2.3.${is ? 5 : 4}`,
        }),
    },
  ],
  texts: {
    icn: String.raw`# FirewallSNAT/snat: UnsupportedByDriver: spec.src_ip: ICN's REST API takes one IPv4 address or network here

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

config redirect
	option name 'snat_lan1'
	option src_ip '192.168.1.2'
	option src_dip '1.2.3.4'
	option proto 'icmp'
	option dest 'wan1'
	option target 'SNAT'

config redirect
	option name 'snat_2'
	option src 'lan1'
	option src_ip '192.168.1.0/24'
	option src_dip '1.2.3.4'
	option src_port '1024'
	option src_dport '2000'
	option proto 'udp'
	option dest 'wan1'
	option dest_ip '8.8.8.8'
	option dest_port '53'
	option mark '0x1'
	option target 'SNAT'
	option family 'ipv4'
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

config redirect 'sdewan_snat_snat_lan1'
	option name 'snat-lan1'
	option target 'SNAT'
	option dest 'wan1'
	option proto 'icmp'
	option src_ip '192.168.1.2'
	option src_dip '1.2.3.4'

config redirect 'sdewan_snat_snat'
	option name 'snat'
	option target 'SNAT'
	option dest 'wan'
	list proto 'udp'
	list proto 'tcp'
	option src_ip '!192.168.1.0/24'
	option src_port '1024-65535'
	option mark '1'
	option family 'ipv4'
	option src_dip '1.2.3.4'
	option src_dport '2000-3000'
	option dest_ip '8.8.8.8'
	option dest_port '!53'

config redirect 'sdewan_snat_snat_2'
	option name 'snat-2'
	option target 'SNAT'
	option src 'lan1'
	option dest 'wan1'
	option proto 'udp'
	option src_ip '192.168.1.0/24'
	option src_port '1024'
	option mark '0x1'
	option family 'ipv4'
	option src_dip '1.2.3.4'
	option src_dport '2000'
	option dest_ip '8.8.8.8'
	option dest_port '53'

`,
  },
};
