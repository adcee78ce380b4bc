/** Samples of FirewallDNAT. */
import { rule } from '../../stack/rules.ts';
import * as icn from '../icn-table.ts';
import { inFirewall } from '../../openwrt/checks/seed-rules.ts';
import type { Samples } from '../samples.ts';
import * as uci from '../uci-table.ts';

export const samples: Samples = {
  kind: 'FirewallDNAT',
  ofIcn: [
    {
      name: 'dnat-wan1',
      spec: {
        src: 'wan1',
        src_dport: '19900',
        dest: 'lan1',
        dest_ip: '192.168.1.1',
        dest_port: '22',
        proto: 'tcp',
      },
    },
  ],
  rendered: [
    {
      name: 'dnat',
      spec: {
        name: 'dnat',
        target: 'DNAT',
        src: 'wan',
        src_ip: '203.0.113.0/24',
        src_dip: '!198.51.100.1',
        src_mac: '00:11:22:33:44:55',
        src_port: '1024-65535',
        src_dport: 19900,
        dest: 'lan1',
        dest_ip: '192.168.1.1',
        dest_port: 22,
        proto: 6,
        mark: '3/0xff',
        family: 'any',
      },
    },
    {
      name: 'dnat-v6',
      spec: {
        src: 'wan',
        src_dip: '2001:db8::1',
        src_dport: '8080-8090',
        dest_ip: 'fd00::1',
        dest_port: '80-90',
        proto: 'tcpudp',
        family: 'ipv6',
      },
    },
    {
      name: 'dnat-2',
      spec: {
        src: 'wan1',
        src_ip: '203.0.113.0/24',
        src_dip: '198.51.100.1',
        src_mac: '00:11:22:aa:bb:cc',
        src_port: 1024,
        src_dport: 19900,
        dest: 'lan1',
        dest_ip: '192.168.1.1',
        dest_port: 22,
        proto: 'tcp',
        mark: '0x2',
        family: 'any',
      },
    },
  ],
  accepted: {
    "DNAT, as ICN's controller leaves it": {
      spec: {
        name: 'd',
        target: 'DNAT',
        src: 'wan1',
        src_dport: 19_900,
        dest_ip: '192.168.1.1',
        dest_port: 22,
        proto: 'tcp',
      },
    },
  },
  refused: {
    'DNAT without a source zone': {
      spec: { dest_ip: '1.2.3.4' },
      server: 'spec.src: Required value',
    },
  },
  fields: uci.redirect('DNAT'),
  icnFields: icn.redirect('DNAT'),
  life: {
    name: 'k-dnat',
    spec: { src: 'kzone', proto: 'tcp', src_dport: 80, dest_ip: '192.168.1.1' },
    changed: { src: 'kzone', proto: 'tcp', src_dport: 80, dest_ip: '192.168.1.2' },
    shows: ['firewall.sdewan_dnat_k_dnat dest_ip', '192.168.1.1', '192.168.1.2'],
  },
  kernel: {
    fw4: {
      created: [/^nft chain dstnat_kzone: .*tcp dport 80 counter dnat ip to 192\.168\.1\.1(:80)? /],
      changed: [/^nft chain dstnat_kzone: .*tcp dport 80 counter dnat ip to 192\.168\.1\.2(:80)? /],
    },
    fw3: {
      created: [
        /^iptables nat: -A zone_kzone_prerouting .*--dport 80 .*--to-destination 192\.168\.1\.1:80$/,
      ],
      changed: [
        /^iptables nat: -A zone_kzone_prerouting .*--dport 80 .*--to-destination 192\.168\.1\.2:80$/,
      ],
    },
  },
  seedLife: [
    {
      rule: rule('FirewallDNAT', 'dnat-1', {
        src: 'wan1',
        proto: 'tcp',
        src_dport: 8081,
        dest_ip: '192.168.1.7',
      }),
      changed: { src: 'wan1', proto: 'tcp', src_dport: 8081, dest_ip: '192.168.1.8' },
      shows: (is) =>
        inFirewall('redirect', {
          target: 'DNAT',
          src_dport: '8081',
          dest_ip: `192.168.1.${is ? 8 : 7}`,
        }),
    },
  ],
  texts: {
    icn: String.raw`# FirewallDNAT/dnat: UnsupportedByDriver: spec.src_port: ICN's REST API takes one port here
# FirewallDNAT/dnat-v6: UnsupportedByDriver: spec.src_dip: ICN's REST API takes one IPv4 address or network here

package firewall
zone { name: lan1, network: [ net1 ], masq: '1', mtu_fix: '1', input: ACCEPT, forward: REJECT, output: ACCEPT }
zone { name: wan1, network: [ net2 ], input: REJECT }
redirect { name: dnat_wan1, src: wan1, src_dport: '19900', proto: tcp, dest: lan1, dest_ip: 192.168.1.1, dest_port: '22', target: DNAT }
redirect { name: dnat_2, src: wan1, src_ip: 203.0.113.0/24, src_dip: 198.51.100.1, src_mac: 00:11:22:aa:bb:cc, src_port: '1024', src_dport: '19900', proto: tcp, dest: lan1, dest_ip: 192.168.1.1, dest_port: '22', mark: '0x2', target: DNAT, family: any }
`,
    uci: String.raw`package firewall
zone sdewan_zone_lan1 { name: lan1, network: [ net1 ], input: ACCEPT, output: ACCEPT, forward: REJECT, masq: '1', mtu_fix: '1' }
zone sdewan_zone_wan1 { name: wan1, network: [ net2 ], input: REJECT }
redirect sdewan_dnat_dnat_wan1 { name: dnat-wan1, target: DNAT, src: wan1, dest: lan1, proto: tcp, src_dport: '19900', dest_ip: 192.168.1.1, dest_port: '22' }
redirect sdewan_dnat_dnat { name: dnat, target: DNAT, src: wan, dest: lan1, src_mac: 00:11:22:33:44:55, proto: '6', src_ip: 203.0.113.0/24, src_port: 1024-65535, mark: 3/0xff, family: any, src_dip: '!198.51.100.1', src_dport: '19900', dest_ip: 192.168.1.1, dest_port: '22' }
redirect sdewan_dnat_dnat_v6 { name: dnat-v6, target: DNAT, src: wan, proto: tcpudp, family: ipv6, src_dip: 2001:db8::1, src_dport: 8080-8090, dest_ip: fd00::1, dest_port: 80-90 }
redirect sdewan_dnat_dnat_2 { name: dnat-2, target: DNAT, src: wan1, dest: lan1, src_mac: 00:11:22:aa:bb:cc, proto: tcp, src_ip: 203.0.113.0/24, src_port: '1024', mark: '0x2', family: any, src_dip: 198.51.100.1, src_dport: '19900', dest_ip: 192.168.1.1, dest_port: '22' }
`,
  },
};
