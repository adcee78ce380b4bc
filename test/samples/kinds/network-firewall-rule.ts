/** Samples of NetworkFirewallRule. */
import * as icn from '../icn-table.ts';
import type { Samples } from '../samples.ts';
import * as uci from '../uci-table.ts';

export const samples: Samples = {
  kind: 'NetworkFirewallRule',
  ofIcn: [
    { name: 'no-ssh', spec: { src: '#default', proto: 'tcp', dest_port: '22', target: 'DROP' } },
  ],
  rendered: [
    {
      name: 'all-fields',
      spec: {
        name: 'all-fields',
        src: 'eth0',
        src_ip: '192.168.1.2 !192.168.2.0/24',
        src_mac: '00:11:22:aa:bb:cc',
        src_port: '80 8000-8100',
        proto: 'tcp udp',
        dest: '#10.1.2.3',
        dest_ip: '10.0.0.0/8',
        dest_port: 22,
        mark: '0x10/0xff',
        target: 'REJECT',
        family: 'ipv4',
        extra: '-m conntrack --ctstate NEW',
      },
    },
    {
      name: 'to-the-cnf',
      spec: { src: '#default', proto: 'icmp', icmp_type: ['echo-request'], target: 'DROP' },
    },
    { name: 'marks', spec: { src: 'net2', target: 'MARK', set_mark: 3, set_xmark: '' } },
    { name: 'same-device', spec: { src: 'net2', target: 'NOTRACK' } },
    { name: 'xmark', spec: { src: '#10.1.2.3', target: 'MARK', set_xmark: '0x1/0x3' } },
    {
      name: 'forwarded',
      spec: {
        src: '#10.1.2.3',
        src_ip: '192.168.1.0/24',
        src_mac: '00:11:22:aa:bb:cc',
        src_port: 1024,
        proto: 'tcp',
        dest: 'net2',
        dest_ip: '10.0.0.0/8',
        dest_port: 22,
        mark: '0x10',
        target: 'DROP',
        family: 'ipv4',
      },
    },
    {
      name: 'into-the.cnf',
      spec: { src: '#default', proto: 'icmp', icmp_type: ['ping', 'pong'], target: 'REJECT' },
    },
    { name: 'marks-2', spec: { src: 'net2', target: 'MARK', set_mark: '0x3' } },
    { name: 'flips', spec: { src: 'net2', target: 'MARK', set_xmark: '0x1' } },
  ],
  accepted: {},
  refused: {
    'a network rule without a target': {
      spec: { src: 'eth0' },
      server: 'spec.target: Required value',
    },
    'a network rule with ports of all protocols': {
      spec: { src: 'eth0', dest_port: 80, target: 'DROP' },
      server: 'ports need tcp, udp or tcpudp',
    },
    'MARK on the way out': {
      spec: { src: 'eth0', dest: 'eth1', target: 'MARK', set_mark: 1 },
      server: 'cannot be used with MARK and NOTRACK',
    },
  },
  fields: {
    section: (name) => `sdewan_net_${uci.mapped(name)}`,
    type: 'rule',
    always: (name, { src, dest, target }) =>
      target === 'MARK' || target === 'NOTRACK'
        ? { name, src: uci.deviceZone, proto: 'all' }
        : {
            name,
            proto: 'all',
            src: '*',
            device: uci.device(src),
            direction: 'in',
            ...(dest === undefined ? {} : { dest: uci.deviceZone }),
          },
    special: {
      name: uci.nothing,
      src: uci.nothing,
      dest: uci.nothing,
      src_ip: uci.several('src_ip'),
      dest_ip: uci.several('dest_ip'),
      src_port: uci.several('src_port'),
      dest_port: uci.several('dest_port'),
      src_mac: uci.several('src_mac'),
      proto: uci.several('proto'),
    },
  },
  icnFields: {
    file: 'firewall-rule',
    type: 'rule',
    // iptables knows IPv4 only.
    special: {
      name: icn.nothing,
      family: icn.nothing,
      src: icn.found('src'),
      dest: icn.found('dest'),
      proto: icn.proto,
    },
  },
  life: {
    name: 'k-net',
    spec: { src: 'eth0', target: 'DROP' },
    changed: { src: 'eth0', target: 'ACCEPT' },
    shows: ['firewall.sdewan_net_k_net target', 'DROP', 'ACCEPT'],
  },
  kernel: {
    fw4: {
      created: [/^nft chain input: iifname "eth0" counter drop /],
      changed: [/^nft chain input: iifname "eth0" counter accept /],
    },
    fw3: {
      created: [/^iptables filter: -A INPUT -i eth0 -j DROP$/],
      changed: [/^iptables filter: -A INPUT -i eth0 -j ACCEPT$/],
    },
  },
  texts: {
    icn: String.raw`# NetworkFirewallRule/all-fields: UnsupportedByDriver: spec.src_ip: ICN's REST API takes one IPv4 address or network here
# NetworkFirewallRule/same-device: UnsupportedByDriver: spec.target: ICN's REST API does not apply it

package firewall-rule
rule { name: no_ssh, src: eth0, src_val: eth0, proto: tcp, dest_port: '22', target: DROP }
rule { name: to_the_cnf, src: eth0, src_val: eth0, proto: icmp, icmp_type: [ echo-request ], target: DROP }
rule { name: marks, src: net2, src_val: net2, target: MARK, set_mark: '3' }
rule { name: xmark, src: net1, src_val: net1, target: MARK, set_xmark: 0x1/0x3 }
rule { name: forwarded, src: net1, src_val: net1, src_ip: 192.168.1.0/24, src_mac: 00:11:22:aa:bb:cc, src_port: '1024', proto: tcp, dest: net2, dest_val: net2, dest_ip: 10.0.0.0/8, dest_port: '22', mark: '0x10', target: DROP }
rule { name: into_the_cnf, src: eth0, src_val: eth0, proto: icmp, icmp_type: [ ping, pong ], target: REJECT }
rule { name: marks_2, src: net2, src_val: net2, target: MARK, set_mark: '0x3' }
rule { name: flips, src: net2, src_val: net2, target: MARK, set_xmark: '0x1' }
`,
    uci: String.raw`package firewall
rule sdewan_net_no_ssh { name: no-ssh, src: '*', device: eth0, direction: in, proto: tcp, dest_port: '22', target: DROP }
rule sdewan_net_all_fields { name: all-fields, src: '*', device: eth0, direction: in, dest: sd6c270ef2, src_ip: [ 192.168.1.2, '!192.168.2.0/24' ], src_mac: 00:11:22:aa:bb:cc, src_port: [ '80', 8000-8100 ], proto: [ tcp, udp ], dest_ip: 10.0.0.0/8, dest_port: '22', mark: 0x10/0xff, target: REJECT, family: ipv4, extra: -m conntrack --ctstate NEW }
rule sdewan_net_to_the_cnf { name: to-the-cnf, src: '*', device: eth0, direction: in, proto: icmp, icmp_type: [ echo-request ], target: DROP }
rule sdewan_net_marks { name: marks, src: sd2daa9a96, dest: '*', proto: all, target: MARK, set_mark: '3' }
rule sdewan_net_same_device { name: same-device, src: sd2daa9a96, proto: all, target: NOTRACK }
rule sdewan_net_xmark { name: xmark, src: sd6c270ef2, dest: '*', proto: all, target: MARK, set_xmark: 0x1/0x3 }
rule sdewan_net_forwarded { name: forwarded, src: '*', device: net1, direction: in, dest: sd2daa9a96, src_ip: 192.168.1.0/24, src_mac: 00:11:22:aa:bb:cc, src_port: '1024', proto: tcp, dest_ip: 10.0.0.0/8, dest_port: '22', mark: '0x10', target: DROP, family: ipv4 }
rule sdewan_net_into_the_cnf { name: into-the.cnf, src: '*', device: eth0, direction: in, proto: icmp, icmp_type: [ ping, pong ], target: REJECT }
rule sdewan_net_marks_2 { name: marks-2, src: sd2daa9a96, dest: '*', proto: all, target: MARK, set_mark: '0x3' }
rule sdewan_net_flips { name: flips, src: sd2daa9a96, dest: '*', proto: all, target: MARK, set_xmark: '0x1' }
zone sdewan_device_sd2daa9a96 { name: sd2daa9a96, device: [ net2 ] }
zone sdewan_device_sd6c270ef2 { name: sd6c270ef2, device: [ net1 ] }
`,
  },
};
