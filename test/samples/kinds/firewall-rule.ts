/** Samples of FirewallRule. */
import { rule } from '../../stack/rules.ts';
import * as icn from '../icn-table.ts';
import { inFirewall } from '../../openwrt/checks/seed-rules.ts';
import type { Samples } from '../samples.ts';
import * as uci from '../uci-table.ts';

export const samples: Samples = {
  kind: 'FirewallRule',
  ofIcn: [
    {
      name: 'reject-80',
      spec: { src: 'lan1', src_ip: '192.168.1.2', src_port: '80', proto: 'tcp', target: 'REJECT' },
    },
  ],
  rendered: [
    {
      name: 'all.fields',
      spec: {
        name: 'all.fields',
        src: 'lan1',
        src_ip: '192.168.1.2 !192.168.2.0/24',
        src_mac: '00:11:22:aa:bb:cc !00:11:22:aa:bb:cd',
        src_port: '80 443,8000-8100',
        proto: 'tcp udp',
        dest: 'wan',
        dest_ip: '10.0.0.0/255.0.0.0',
        dest_port: 22,
        mark: '!0x10/0xff',
        target: 'MARK',
        set_mark: '0x20/0xff',
        set_xmark: 7,
        family: 'ipv4',
        extra: '-m conntrack --ctstate NEW',
      },
    },
    {
      name: 'ipv6',
      spec: {
        src: '*',
        dest: '*',
        src_ip: '!fe80::/10 2001:db8::1',
        proto: 'icmp',
        icmp_type: ['echo-request', 'destination-unreachable', '3/4'],
        family: 'ipv6',
        target: 'REJECT',
      },
    },
    {
      name: 'blank-fields',
      spec: { src: '', src_ip: '', src_port: '', proto: '', icmp_type: [], target: 'DROP' },
    },
    {
      name: 'a-very-long-name-of-a-rule-that-somebody-generated.a-very-long-name-of-a-rule-that-somebody-generated.a-very-long-name-of-a-rule.x',
      spec: { src: 'lan1', target: 'ACCEPT' },
    },
    {
      name: 'forwarded',
      spec: {
        src: 'lan1',
        src_ip: '192.168.1.0/24',
        src_mac: '00:11:22:aa:bb:cc',
        src_port: 1024,
        proto: 'tcp',
        dest: 'wan1',
        dest_ip: '10.9.0.1',
        dest_port: 443,
        mark: '0x10/0xff',
        target: 'MARK',
        set_mark: '0x20',
        family: 'ipv4',
        extra: '-m conntrack --ctstate NEW',
      },
    },
    {
      name: 'to-the.cnf',
      spec: {
        src: 'wan1',
        proto: 'icmp',
        icmp_type: ['ping', 'destination-unreachable'],
        target: 'ACCEPT',
      },
    },
    { name: 'flips', spec: { src: 'lan1', proto: 'tcp udp', target: 'MARK', set_xmark: '0x1' } },
  ],
  accepted: {
    'the seed, numbers instead of digits': {
      spec: { src: 'lan1', src_ip: '192.168.1.2', src_port: 80, proto: 'tcp', target: 'REJECT' },
    },
    'every kind of port': { spec: { src_port: '80 443,8000-8100 !22', proto: 'tcp udp' } },
    'a protocol by number': { spec: { proto: 6, src_port: '80' } },
    'IPv6 and negation': { spec: { src_ip: '!2001:db8::/32 fe80::1', mark: '!0x10/0xff' } },
    'MARK with a number to set': { spec: { target: 'MARK', set_mark: 16 } },
    'an ICMP type': { spec: { proto: 'icmp', icmp_type: ['echo-request', '3/4'] } },
  },
  refused: {
    'a number that is no port': {
      spec: { src_port: 70_000, proto: 'tcp' },
      server: 'must be ports from 1 to 65535',
    },
    'a text that is no port': {
      spec: { src_port: 'http', proto: 'tcp' },
      server: 'must be ports from 1 to 65535',
    },
    'a port range that runs backwards': {
      spec: { src_port: '90-80', proto: 'tcp' },
      agent: 'spec.src_port: must be ports',
    },
    'a port with a leading zero': {
      spec: { src: 'lan', proto: 'tcp', dest_port: '0080' },
      server: 'without leading zeros',
    },
    'a protocol with a leading zero': {
      spec: { src: 'lan', proto: '006' },
      server: 'without leading zeros',
    },
    'an ICMP type with a leading zero': {
      spec: { src: 'lan', proto: 'icmp', icmp_type: ['010'] },
      server: 'without leading zeros',
    },
    'an address with a leading zero': {
      spec: { src_ip: '010.0.0.1' },
      agent: 'spec.src_ip: must be IPv4 or IPv6 addresses',
    },
    'a control character': { spec: { extra: 'a\nb' }, server: 'must not have control characters' },
    'a word that is not in the list': {
      spec: { target: 'PASS' },
      server: 'Unsupported value: "PASS"',
    },
    'MARK with nothing to set': {
      spec: { target: 'MARK', set_mark: '' },
      server: 'spec.target: Invalid value: MARK needs set_mark or set_xmark',
    },
    'NOTRACK without a zone': {
      spec: { target: 'NOTRACK', src: '*' },
      server: 'NOTRACK needs a zone in src',
    },
    'ports of a protocol that has none': {
      spec: { proto: 'tcp icmp', dest_port: 80 },
      server: 'ports need tcp, udp or tcpudp',
    },
    'ports of a protocol by number that has none': {
      spec: { proto: 1, dest_port: 80 },
      server: 'ports need tcp, udp or tcpudp',
    },
    'too many items': {
      spec: { icmp_type: Array.from({ length: 65 }, () => 'any') },
      server: 'spec.icmp_type: Too many: 65',
    },
  },
  fields: {
    section: (name) => `sdewan_rule_${uci.mapped(name)}`,
    type: 'rule',
    always: uci.named,
    special: {
      name: uci.nothing,
      src: uci.zone('src'),
      dest: uci.zone('dest'),
      src_ip: uci.several('src_ip'),
      dest_ip: uci.several('dest_ip'),
      src_port: uci.several('src_port'),
      dest_port: uci.several('dest_port'),
      src_mac: uci.several('src_mac'),
      proto: uci.several('proto'),
    },
  },
  icnFields: { file: 'firewall', type: 'rule', special: icn.inZones },
  life: {
    name: 'k-rule',
    spec: { src: 'kzone', target: 'DROP' },
    changed: { src: 'kzone', target: 'REJECT' },
    shows: ['firewall.sdewan_rule_k_rule target', 'DROP', 'REJECT'],
  },
  kernel: {
    fw4: {
      created: [
        /^nft chain input_kzone: meta l4proto tcp counter drop /,
        /^nft chain input_kzone: meta l4proto udp counter drop /,
      ],
      changed: [
        /^nft chain input_kzone: meta l4proto tcp counter jump handle_reject /,
        /^nft chain input_kzone: meta l4proto udp counter jump handle_reject /,
      ],
    },
    fw3: {
      created: [
        /^iptables filter: -A zone_kzone_input -p tcp .*-j DROP$/,
        /^iptables filter: -A zone_kzone_input -p udp .*-j DROP$/,
      ],
      changed: [
        /^iptables filter: -A zone_kzone_input -p tcp .*-j reject$/,
        /^iptables filter: -A zone_kzone_input -p udp .*-j reject$/,
      ],
    },
  },
  seedLife: [
    {
      rule: rule('FirewallRule', 'rule-1', {
        src: 'lan1',
        proto: 'tcp',
        dest_port: 81,
        target: 'DROP',
      }),
      changed: { src: 'lan1', proto: 'tcp', dest_port: 81, target: 'REJECT' },
      shows: (is) => inFirewall('rule', { dest_port: '81', target: is ? 'REJECT' : 'DROP' }),
    },
  ],
  texts: {
    icn: String.raw`# FirewallRule/all.fields: UnsupportedByDriver: spec.src_ip: ICN's REST API takes one IPv4 address or network here
# FirewallRule/ipv6: UnsupportedByDriver: spec.src: ICN's REST API takes one zone here

package firewall
zone { name: lan1, network: [ net1 ], masq: '1', mtu_fix: '1', input: ACCEPT, forward: REJECT, output: ACCEPT }
zone { name: wan1, network: [ net2 ], input: REJECT }
rule { name: reject_80, src: lan1, src_ip: 192.168.1.2, src_port: '80', proto: tcp, target: REJECT }
rule { name: blank_fields, target: DROP }
rule { name: a_very_long_name_of_a_rule_that_somebody_generated_a_very_long_name_of_a_rule_that_somebody_generated_a_very_long_name_of_a_rule_x, src: lan1, target: ACCEPT }
rule { name: forwarded, src: lan1, src_ip: 192.168.1.0/24, src_mac: 00:11:22:aa:bb:cc, src_port: '1024', proto: tcp, dest: wan1, dest_ip: 10.9.0.1, dest_port: '443', mark: 0x10/0xff, target: MARK, set_mark: '0x20', family: ipv4, extra: -m conntrack --ctstate NEW }
rule { name: to_the_cnf, src: wan1, proto: icmp, icmp_type: [ ping, destination-unreachable ], target: ACCEPT }
rule { name: flips, src: lan1, proto: tcpudp, target: MARK, set_xmark: '0x1' }
`,
    uci: String.raw`package firewall
zone sdewan_zone_lan1 { name: lan1, network: [ net1 ], input: ACCEPT, output: ACCEPT, forward: REJECT, masq: '1', mtu_fix: '1' }
zone sdewan_zone_wan1 { name: wan1, network: [ net2 ], input: REJECT }
rule sdewan_rule_reject_80 { name: reject-80, src: lan1, src_ip: 192.168.1.2, src_port: '80', proto: tcp, target: REJECT }
rule sdewan_rule_all_fields { name: all.fields, src: lan1, src_ip: [ 192.168.1.2, '!192.168.2.0/24' ], src_mac: [ 00:11:22:aa:bb:cc, '!00:11:22:aa:bb:cd' ], src_port: [ '80', '443', 8000-8100 ], proto: [ tcp, udp ], dest: wan, dest_ip: 10.0.0.0/255.0.0.0, dest_port: '22', mark: '!0x10/0xff', target: MARK, set_mark: 0x20/0xff, set_xmark: '7', family: ipv4, extra: -m conntrack --ctstate NEW }
rule sdewan_rule_ipv6 { name: ipv6, src: '*', src_ip: [ '!fe80::/10', 2001:db8::1 ], proto: icmp, dest: '*', icmp_type: [ echo-request, destination-unreachable, 3/4 ], target: REJECT, family: ipv6 }
rule sdewan_rule_blank_fields { name: blank-fields, target: DROP }
rule sdewan_rule_a_very_long_name_of_a_rule_that_somebody_generated_a_very_long_name_of_a_rule_that_somebody_generated_a_very_long_name_of_a_rule_x { name: a-very-long-name-of-a-rule-that-somebody-generated.a-very-long-name-of-a-rule-that-somebody-generate~142683a0, src: lan1, target: ACCEPT }
rule sdewan_rule_forwarded { name: forwarded, src: lan1, src_ip: 192.168.1.0/24, src_mac: 00:11:22:aa:bb:cc, src_port: '1024', proto: tcp, dest: wan1, dest_ip: 10.9.0.1, dest_port: '443', mark: 0x10/0xff, target: MARK, set_mark: '0x20', family: ipv4, extra: -m conntrack --ctstate NEW }
rule sdewan_rule_to_the_cnf { name: to-the.cnf, src: wan1, proto: icmp, icmp_type: [ ping, destination-unreachable ], target: ACCEPT }
rule sdewan_rule_flips { name: flips, src: lan1, proto: [ tcp, udp ], target: MARK, set_xmark: '0x1' }
`,
  },
};
