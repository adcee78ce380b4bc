/** Samples of FirewallSNAT. */
import { rule } from '../../stack/rules.ts';
import * as icn from '../icn-table.ts';
import { inFirewall } from '../../openwrt/checks/seed-rules.ts';
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
    'SNAT without the new source': { spec: { dest: 'wan1' }, server: 'is required' },
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
zone { name: lan1, network: [ net1 ], masq: '1', mtu_fix: '1', input: ACCEPT, forward: REJECT, output: ACCEPT }
zone { name: wan1, network: [ net2 ], input: REJECT }
redirect { name: snat_lan1, src_ip: 192.168.1.2, src_dip: 1.2.3.4, proto: icmp, dest: wan1, target: SNAT }
redirect { name: snat_2, src: lan1, src_ip: 192.168.1.0/24, src_dip: 1.2.3.4, src_port: '1024', src_dport: '2000', proto: udp, dest: wan1, dest_ip: 8.8.8.8, dest_port: '53', mark: '0x1', target: SNAT, family: ipv4 }
`,
    uci: String.raw`package firewall
zone sdewan_zone_lan1 { name: lan1, network: [ net1 ], input: ACCEPT, output: ACCEPT, forward: REJECT, masq: '1', mtu_fix: '1' }
zone sdewan_zone_wan1 { name: wan1, network: [ net2 ], input: REJECT }
redirect sdewan_snat_snat_lan1 { name: snat-lan1, target: SNAT, dest: wan1, proto: icmp, src_ip: 192.168.1.2, src_dip: 1.2.3.4 }
redirect sdewan_snat_snat { name: snat, target: SNAT, dest: wan, proto: [ udp, tcp ], src_ip: '!192.168.1.0/24', src_port: 1024-65535, mark: '1', family: ipv4, src_dip: 1.2.3.4, src_dport: 2000-3000, dest_ip: 8.8.8.8, dest_port: '!53' }
redirect sdewan_snat_snat_2 { name: snat-2, target: SNAT, src: lan1, dest: wan1, proto: udp, src_ip: 192.168.1.0/24, src_port: '1024', mark: '0x1', family: ipv4, src_dip: 1.2.3.4, src_dport: '2000', dest_ip: 8.8.8.8, dest_port: '53' }
`,
  },
};
