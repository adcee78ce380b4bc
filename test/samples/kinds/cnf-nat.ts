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
nat { name: nat1, src_ip: 192.168.4.0/24, src_dip: 10.1.2.3, proto: tcp, dest: net1, target: SNAT }
nat { name: masquerade, src_ip: 192.168.1.0/24, dest: eth0, target: MASQUERADE }
nat { name: redirect, src_dip: 203.0.113.0/24, src_dport: '8080', proto: tcp, dest_port: '80', target: DNAT }
nat { name: snat_2, src_ip: 192.168.1.0/24, src_dip: 10.1.2.3, src_port: '1024', src_dport: '5000', proto: udp, dest: net1, dest_ip: 10.9.0.0/16, dest_port: '53', target: SNAT }
nat { name: dnat_2, src: net2, src_ip: 192.168.9.0/24, src_dip: 203.0.113.1, src_port: '1024', src_dport: '8866', proto: tcp, dest_ip: 192.168.1.1, dest_port: '80', target: DNAT }
`,
    uci: String.raw`package firewall
nat sdewan_nat_nat1 { name: nat1, target: SNAT, device: net1, proto: tcp, src_ip: 192.168.4.0/24, snat_ip: 10.1.2.3 }
nat sdewan_nat_snat { name: snat, target: SNAT, device: net1, proto: udp, src_ip: 192.168.1.0/24, src_port: 1024-65535, dest_ip: '!10.0.0.0/8', dest_port: '53', snat_ip: 10.1.2.3, snat_port: 5000-6000 }
nat sdewan_nat_masquerade { name: masquerade, target: MASQUERADE, device: eth0, proto: all, src_ip: 192.168.1.0/24 }
redirect sdewan_nat_dnat { name: dnat, target: DNAT, src: sd9c32a8c7, dest: '*', proto: tcp, src_ip: '!192.168.1.0/24', src_port: 1024-65535, src_dip: 203.0.113.1, src_dport: '8866', dest_ip: 192.168.1.1, dest_port: '80' }
redirect sdewan_nat_redirect { name: redirect, target: DNAT, src: sda318c242, dest: '*', proto: tcp, src_dip: 203.0.113.0/24, src_dport: '8080', dest_port: '80' }
nat sdewan_nat_snat_2 { name: snat-2, target: SNAT, device: net1, proto: udp, src_ip: 192.168.1.0/24, src_port: '1024', dest_ip: 10.9.0.0/16, dest_port: '53', snat_ip: 10.1.2.3, snat_port: '5000' }
redirect sdewan_nat_dnat_2 { name: dnat-2, target: DNAT, src: sd2daa9a96, dest: '*', proto: tcp, src_ip: 192.168.9.0/24, src_port: '1024', src_dip: 203.0.113.1, src_dport: '8866', dest_ip: 192.168.1.1, dest_port: '80' }
zone sdewan_device_sd2daa9a96 { name: sd2daa9a96, device: [ net2 ] }
zone sdewan_device_sd9c32a8c7 { name: sd9c32a8c7, device: [ eth0 ] }
zone sdewan_device_sda318c242 { name: sda318c242, device: [ + ] }
`,
  },
};
