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

config rule
	option name 'no_ssh'
	option src 'eth0'
	option src_val 'eth0'
	option proto 'tcp'
	option dest_port '22'
	option target 'DROP'

config rule
	option name 'to_the_cnf'
	option src 'eth0'
	option src_val 'eth0'
	option proto 'icmp'
	list icmp_type 'echo-request'
	option target 'DROP'

config rule
	option name 'marks'
	option src 'net2'
	option src_val 'net2'
	option target 'MARK'
	option set_mark '3'

config rule
	option name 'xmark'
	option src 'net1'
	option src_val 'net1'
	option target 'MARK'
	option set_xmark '0x1/0x3'

config rule
	option name 'forwarded'
	option src 'net1'
	option src_val 'net1'
	option src_ip '192.168.1.0/24'
	option src_mac '00:11:22:aa:bb:cc'
	option src_port '1024'
	option proto 'tcp'
	option dest 'net2'
	option dest_val 'net2'
	option dest_ip '10.0.0.0/8'
	option dest_port '22'
	option mark '0x10'
	option target 'DROP'

config rule
	option name 'into_the_cnf'
	option src 'eth0'
	option src_val 'eth0'
	option proto 'icmp'
	list icmp_type 'ping'
	list icmp_type 'pong'
	option target 'REJECT'

config rule
	option name 'marks_2'
	option src 'net2'
	option src_val 'net2'
	option target 'MARK'
	option set_mark '0x3'

config rule
	option name 'flips'
	option src 'net2'
	option src_val 'net2'
	option target 'MARK'
	option set_xmark '0x1'
`,
    uci: String.raw`package firewall

config rule 'sdewan_net_no_ssh'
	option name 'no-ssh'
	option src '*'
	option device 'eth0'
	option direction 'in'
	option proto 'tcp'
	option dest_port '22'
	option target 'DROP'

config rule 'sdewan_net_all_fields'
	option name 'all-fields'
	option src '*'
	option device 'eth0'
	option direction 'in'
	option dest 'sd6c270ef2'
	list src_ip '192.168.1.2'
	list src_ip '!192.168.2.0/24'
	option src_mac '00:11:22:aa:bb:cc'
	list src_port '80'
	list src_port '8000-8100'
	list proto 'tcp'
	list proto 'udp'
	option dest_ip '10.0.0.0/8'
	option dest_port '22'
	option mark '0x10/0xff'
	option target 'REJECT'
	option family 'ipv4'
	option extra '-m conntrack --ctstate NEW'

config rule 'sdewan_net_to_the_cnf'
	option name 'to-the-cnf'
	option src '*'
	option device 'eth0'
	option direction 'in'
	option proto 'icmp'
	list icmp_type 'echo-request'
	option target 'DROP'

config rule 'sdewan_net_marks'
	option name 'marks'
	option src 'sd2daa9a96'
	option dest '*'
	option proto 'all'
	option target 'MARK'
	option set_mark '3'

config rule 'sdewan_net_same_device'
	option name 'same-device'
	option src 'sd2daa9a96'
	option proto 'all'
	option target 'NOTRACK'

config rule 'sdewan_net_xmark'
	option name 'xmark'
	option src 'sd6c270ef2'
	option dest '*'
	option proto 'all'
	option target 'MARK'
	option set_xmark '0x1/0x3'

config rule 'sdewan_net_forwarded'
	option name 'forwarded'
	option src '*'
	option device 'net1'
	option direction 'in'
	option dest 'sd2daa9a96'
	option src_ip '192.168.1.0/24'
	option src_mac '00:11:22:aa:bb:cc'
	option src_port '1024'
	option proto 'tcp'
	option dest_ip '10.0.0.0/8'
	option dest_port '22'
	option mark '0x10'
	option target 'DROP'
	option family 'ipv4'

config rule 'sdewan_net_into_the_cnf'
	option name 'into-the.cnf'
	option src '*'
	option device 'eth0'
	option direction 'in'
	option proto 'icmp'
	list icmp_type 'ping'
	list icmp_type 'pong'
	option target 'REJECT'

config rule 'sdewan_net_marks_2'
	option name 'marks-2'
	option src 'sd2daa9a96'
	option dest '*'
	option proto 'all'
	option target 'MARK'
	option set_mark '0x3'

config rule 'sdewan_net_flips'
	option name 'flips'
	option src 'sd2daa9a96'
	option dest '*'
	option proto 'all'
	option target 'MARK'
	option set_xmark '0x1'

config zone 'sdewan_device_sd2daa9a96'
	option name 'sd2daa9a96'
	list device 'net2'

config zone 'sdewan_device_sd6c270ef2'
	option name 'sd6c270ef2'
	list device 'net1'

`,
  },
};
