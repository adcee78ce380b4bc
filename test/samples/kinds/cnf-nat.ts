/** Samples of CNFNAT. */
import * as icn from '../icn-table.ts';
import type { Samples } from '../samples.ts';
import * as uci from '../uci-table.ts';

export const samples: Samples = {
  kind: 'CNFNAT',
  ofIcn: [
    {
      name: 'nat1',
      spec: {
        src_ip: '192.168.4.0/24',
        src_dip: '10.1.2.3',
        dest: '#source',
        proto: 'tcp',
        target: 'SNAT',
      },
    },
  ],
  rendered: [
    {
      name: 'snat',
      spec: {
        name: 'snat',
        target: 'SNAT',
        dest: '#source',
        src_ip: '192.168.1.0/24',
        src_port: '1024-65535',
        src_dip: '10.1.2.3',
        src_dport: '5000-6000',
        dest_ip: '!10.0.0.0/8',
        dest_port: 53,
        proto: 'udp',
        index: 1,
      },
    },
    {
      name: 'masquerade',
      spec: { target: 'MASQUERADE', dest: '#default', src_ip: '192.168.1.0/24' },
    },
    {
      name: 'dnat',
      spec: {
        target: 'DNAT',
        src: '#default',
        src_ip: '!192.168.1.0/24',
        src_port: '1024-65535',
        src_dip: '203.0.113.1',
        src_dport: '8866',
        dest_ip: '192.168.1.1',
        dest_port: 80,
        proto: 'tcp',
      },
    },
    {
      name: 'redirect',
      spec: {
        target: 'DNAT',
        src_dip: '203.0.113.0/24',
        src_dport: 8080,
        dest_port: 80,
        proto: 'tcp',
      },
    },
    {
      name: 'snat-2',
      spec: {
        target: 'SNAT',
        dest: '#source',
        src_ip: '192.168.1.0/24',
        src_port: 1024,
        src_dip: '10.1.2.3',
        src_dport: 5000,
        dest_ip: '10.9.0.0/16',
        dest_port: 53,
        proto: 'udp',
        index: 1,
      },
    },
    {
      name: 'dnat-2',
      spec: {
        target: 'DNAT',
        src: 'net2',
        src_ip: '192.168.9.0/24',
        src_port: 1024,
        src_dip: '203.0.113.1',
        src_dport: 8866,
        dest_ip: '192.168.1.1',
        dest_port: 80,
        proto: 'tcp',
      },
    },
  ],
  accepted: {
    'SNAT by the device of the new source': {
      spec: {
        target: 'SNAT',
        dest: '#source',
        src_dip: '10.0.0.1',
        src_dport: 5000,
        proto: 'udp',
        index: '1',
      },
    },
    'DNAT to the CNF itself': {
      spec: { target: 'DNAT', src_dport: 8080, dest_port: 80, proto: 'tcp' },
    },
  },
  refused: {
    'SNAT by no device': {
      spec: { target: 'SNAT', src_dip: '10.0.0.1' },
      server: 'is required for SNAT and MASQUERADE',
    },
    'SNAT to a network of sources': {
      spec: { target: 'SNAT', dest: 'eth0', src_dip: '10.0.0.0/24' },
      server: 'must be one address for SNAT',
    },
    'MASQUERADE as something else': {
      spec: { target: 'MASQUERADE', dest: 'eth0', src_dip: '!10.0.0.0/24' },
      server: 'cannot be used with MASQUERADE',
    },
    'DNAT to nowhere': {
      spec: { target: 'DNAT', src: 'eth0' },
      server: 'if it is absent, dest_port is required',
    },
  },
  fields: {
    section: (name) => `sdewan_nat_${uci.mapped(name)}`,
    type: ({ target }: uci.Spec) => (target === 'DNAT' ? 'redirect' : 'nat'),
    always: (name, { target, src_dip, src_dport }) =>
      target === 'DNAT'
        ? { name, proto: 'all', src: uci.deviceZone, src_dip, src_dport: String(src_dport) }
        : {
            name,
            proto: 'all',
            ...(src_dip === undefined ? {} : { snat_ip: src_dip }),
            ...(src_dport === undefined ? {} : uci.several('snat_port')(src_dport)),
          },
    special: {
      name: uci.nothing,
      index: uci.nothing,
      src: uci.nothing,
      src_dip: uci.nothing,
      src_dport: uci.nothing,
      dest: (value) => ({ device: uci.device(value) }),
      proto: uci.several('proto'),
    },
  },
  icnFields: {
    file: 'firewall-nat',
    type: 'nat',
    special: {
      name: icn.nothing,
      index: icn.nothing,
      src: (value) => ({ src: uci.device(value) }),
      dest: (value) => ({ dest: uci.device(value) }),
      proto: icn.proto,
    },
  },
  life: {
    name: 'k-nat',
    spec: { target: 'SNAT', dest: 'eth0', src_dip: '1.2.3.4' },
    changed: { target: 'SNAT', dest: 'eth0', src_dip: '1.2.3.5' },
    shows: ['firewall.sdewan_nat_k_nat snat_ip', '1.2.3.4', '1.2.3.5'],
  },
  kernel: {
    fw4: {
      created: [/^nft chain srcnat: .*oifname "eth0" counter snat ip to 1\.2\.3\.4 /],
      changed: [/^nft chain srcnat: .*oifname "eth0" counter snat ip to 1\.2\.3\.5 /],
    },
    fw3: {
      created: [/^iptables nat: -A POSTROUTING -o eth0 -j SNAT --to-source 1\.2\.3\.4$/],
      changed: [/^iptables nat: -A POSTROUTING -o eth0 -j SNAT --to-source 1\.2\.3\.5$/],
    },
  },
  texts: {
    icn: String.raw`# CNFNAT/snat: UnsupportedByDriver: spec.src_port: ICN's REST API takes one port here
# CNFNAT/dnat: UnsupportedByDriver: spec.src_ip: ICN's REST API takes one IPv4 address or network here

package firewall-nat

config nat
	option name 'nat1'
	option src_ip '192.168.4.0/24'
	option src_dip '10.1.2.3'
	option proto 'tcp'
	option dest 'net1'
	option target 'SNAT'

config nat
	option name 'masquerade'
	option src_ip '192.168.1.0/24'
	option dest 'eth0'
	option target 'MASQUERADE'

config nat
	option name 'redirect'
	option src_dip '203.0.113.0/24'
	option src_dport '8080'
	option proto 'tcp'
	option dest_port '80'
	option target 'DNAT'

config nat
	option name 'snat_2'
	option src_ip '192.168.1.0/24'
	option src_dip '10.1.2.3'
	option src_port '1024'
	option src_dport '5000'
	option proto 'udp'
	option dest 'net1'
	option dest_ip '10.9.0.0/16'
	option dest_port '53'
	option target 'SNAT'

config nat
	option name 'dnat_2'
	option src 'net2'
	option src_ip '192.168.9.0/24'
	option src_dip '203.0.113.1'
	option src_port '1024'
	option src_dport '8866'
	option proto 'tcp'
	option dest_ip '192.168.1.1'
	option dest_port '80'
	option target 'DNAT'
`,
    uci: String.raw`package firewall

config nat 'sdewan_nat_nat1'
	option name 'nat1'
	option target 'SNAT'
	option device 'net1'
	option proto 'tcp'
	option src_ip '192.168.4.0/24'
	option snat_ip '10.1.2.3'

config nat 'sdewan_nat_snat'
	option name 'snat'
	option target 'SNAT'
	option device 'net1'
	option proto 'udp'
	option src_ip '192.168.1.0/24'
	option src_port '1024-65535'
	option dest_ip '!10.0.0.0/8'
	option dest_port '53'
	option snat_ip '10.1.2.3'
	option snat_port '5000-6000'

config nat 'sdewan_nat_masquerade'
	option name 'masquerade'
	option target 'MASQUERADE'
	option device 'eth0'
	option proto 'all'
	option src_ip '192.168.1.0/24'

config redirect 'sdewan_nat_dnat'
	option name 'dnat'
	option target 'DNAT'
	option src 'sd9c32a8c7'
	option dest '*'
	option proto 'tcp'
	option src_ip '!192.168.1.0/24'
	option src_port '1024-65535'
	option src_dip '203.0.113.1'
	option src_dport '8866'
	option dest_ip '192.168.1.1'
	option dest_port '80'

config redirect 'sdewan_nat_redirect'
	option name 'redirect'
	option target 'DNAT'
	option src 'sda318c242'
	option dest '*'
	option proto 'tcp'
	option src_dip '203.0.113.0/24'
	option src_dport '8080'
	option dest_port '80'

config nat 'sdewan_nat_snat_2'
	option name 'snat-2'
	option target 'SNAT'
	option device 'net1'
	option proto 'udp'
	option src_ip '192.168.1.0/24'
	option src_port '1024'
	option dest_ip '10.9.0.0/16'
	option dest_port '53'
	option snat_ip '10.1.2.3'
	option snat_port '5000'

config redirect 'sdewan_nat_dnat_2'
	option name 'dnat-2'
	option target 'DNAT'
	option src 'sd2daa9a96'
	option dest '*'
	option proto 'tcp'
	option src_ip '192.168.9.0/24'
	option src_port '1024'
	option src_dip '203.0.113.1'
	option src_dport '8866'
	option dest_ip '192.168.1.1'
	option dest_port '80'

config zone 'sdewan_device_sd2daa9a96'
	option name 'sd2daa9a96'
	list device 'net2'

config zone 'sdewan_device_sd9c32a8c7'
	option name 'sd9c32a8c7'
	list device 'eth0'

config zone 'sdewan_device_sda318c242'
	option name 'sda318c242'
	list device '+'

`,
  },
};
