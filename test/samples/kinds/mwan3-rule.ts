/** Samples of Mwan3Rule. */
import { rule } from '../../stack/rules.ts';
import * as icn from '../icn-table.ts';
import type { Samples } from '../samples.ts';
import * as uci from '../uci-table.ts';

export const samples: Samples = {
  kind: 'Mwan3Rule',
  ofIcn: [
    {
      name: 'http-rule',
      spec: {
        policy: 'balance1',
        src_ip: '192.168.1.2',
        src_port: '',
        dest_ip: '0.0.0.0/0',
        dest_port: '80',
        proto: 'tcp',
        family: 'ipv4',
        sticky: '0',
        timeout: '300',
      },
    },
  ],
  rendered: [
    {
      name: 'every.field',
      spec: {
        policy: 'balance-1',
        src_ip: '192.168.1.0/24',
        src_port: '1024-65535',
        dest_ip: '0.0.0.0/0',
        dest_port: '80, 443 8000-8100',
        proto: 'tcp',
        family: 'ipv4',
        sticky: 1,
        timeout: 300,
      },
    },
    {
      name: 'built.in',
      spec: { policy: 'unreachable', dest_ip: '2001:db8::/32', proto: '', family: 'ipv6' },
    },
    {
      name: 'all.fields',
      spec: {
        policy: 'balance-1',
        src_ip: '192.168.1.0/24',
        src_port: 1024,
        dest_ip: '10.0.0.0/8',
        dest_port: 443,
        proto: 'tcp',
        family: 'ipv4',
        sticky: '1',
        timeout: 300,
      },
    },
  ],
  accepted: {
    "blank fields, as ICN's controller sends them": {
      spec: {
        policy: 'p',
        src_ip: '',
        src_port: '',
        dest_ip: '',
        dest_port: '',
        proto: '',
        family: '',
        sticky: '',
        timeout: '',
      },
    },
    "the seed's five fields of a Mwan3Rule": {
      spec: {
        policy: 'balance1',
        src_ip: '192.168.1.2',
        dest_ip: '0.0.0.0/0',
        dest_port: '80',
        proto: 'tcp',
      },
    },
  },
  refused: {
    'a word for a switch': {
      spec: { policy: 'p', sticky: 'yes' },
      server: 'must be 0 or 1',
    },
    'mwan3 ports without a protocol': {
      spec: { policy: 'p', dest_port: '80' },
      server: 'ports need tcp or udp',
    },
    'more ports than multiport takes, where a range counts as two': {
      spec: { policy: 'p', proto: 'tcp', dest_port: '1 2 3 4 5 6 7 8 9 10 11 12 13 14 15-16' },
      agent: 'spec.dest_port: must be ports',
    },
  },
  fields: {
    section: uci.mapped,
    type: 'rule',
    special: {
      policy: (value) => ({ use_policy: uci.mapped(value) }),
      src_port: (value) => ({ src_port: uci.multiport(value) }),
      dest_port: (value) => ({ dest_port: uci.multiport(value) }),
    },
  },
  icnFields: {
    file: 'mwan3',
    type: 'rule',
    isNamed: true,
    special: { policy: icn.named('use_policy') },
  },
  life: {
    name: 'k-mrule',
    spec: { policy: 'k-policy', dest_ip: '0.0.0.0/0' },
    changed: { policy: 'k-policy', dest_ip: '8.8.8.8' },
    shows: ['mwan3.k_mrule dest_ip', '0.0.0.0/0', '8.8.8.8'],
  },
  kernel: {
    fw4: {
      created: [/^iptables mangle: -A mwan3_rules -m mark .*-j mwan3_policy_k_policy$/],
      changed: [/^iptables mangle: -A mwan3_rules -d 8\.8\.8\.8\/32 .*-j mwan3_policy_k_policy$/],
    },
  },
  seedLife: [
    {
      rule: rule('Mwan3Rule', 'mrule-1', { policy: 'policy-1', dest_ip: '10.8.0.0/16' }),
      changed: { policy: 'policy-1', dest_ip: '10.9.0.0/16' },
      shows: (is) => [
        {
          package: 'mwan3',
          type: 'rule',
          options: { use_policy: 'policy_1', dest_ip: `10.${is ? 9 : 8}.0.0/16` },
        },
      ],
    },
  ],
  texts: {
    icn: String.raw`# Mwan3Rule/every.field: UnsupportedByDriver: spec.src_port: ICN's REST API takes one port here
# Mwan3Rule/built.in: UnsupportedByDriver: spec.policy: ICN's REST API does not know the policies that are built in

package mwan3
member balance1_net1 { interface: net1, metric: '2', weight: '2' }
member balance1_net2 { interface: net2, metric: '3', weight: '3' }
policy balance1 { use_member: [ balance1_net1, balance1_net2 ] }
member balance_1_net1 { interface: net1, metric: '2', weight: '2' }
member balance_1_net2 { interface: net2, metric: '1', weight: '3' }
policy balance_1 { use_member: [ balance_1_net1, balance_1_net2 ] }
rule http_rule { use_policy: balance1, src_ip: 192.168.1.2, dest_ip: 0.0.0.0/0, dest_port: '80', proto: tcp, family: ipv4, sticky: '0', timeout: '300' }
rule all_fields { use_policy: balance_1, src_ip: 192.168.1.0/24, src_port: '1024', dest_ip: 10.0.0.0/8, dest_port: '443', proto: tcp, family: ipv4, sticky: '1', timeout: '300' }
`,
    uci: String.raw`package mwan3
member balance1_net1 { interface: net1, metric: '2', weight: '2', sdewan_made: Mwan3Policy/balance1_net1 }
member balance1_net2 { interface: net2, metric: '3', weight: '3', sdewan_made: Mwan3Policy/balance1_net2 }
policy balance1 { use_member: [ balance1_net1, balance1_net2 ], sdewan_made: Mwan3Policy/balance1 }
member balance_1_net1 { interface: net1, metric: '2', weight: '2', sdewan_made: Mwan3Policy/balance_1_net1 }
member balance_1_net2 { interface: net2, metric: '1', weight: '3', sdewan_made: Mwan3Policy/balance_1_net2 }
policy balance_1 { use_member: [ balance_1_net1, balance_1_net2 ], sdewan_made: Mwan3Policy/balance_1 }
rule http_rule { src_ip: 192.168.1.2, dest_ip: 0.0.0.0/0, proto: tcp, family: ipv4, sticky: '0', timeout: '300', dest_port: '80', use_policy: balance1, sdewan_made: Mwan3Rule/http_rule }
rule every_field { src_ip: 192.168.1.0/24, dest_ip: 0.0.0.0/0, proto: tcp, family: ipv4, sticky: '1', timeout: '300', src_port: 1024:65535, dest_port: '80,443,8000:8100', use_policy: balance_1, sdewan_made: Mwan3Rule/every_field }
rule built_in { dest_ip: 2001:db8::/32, family: ipv6, use_policy: unreachable, sdewan_made: Mwan3Rule/built_in }
rule all_fields { src_ip: 192.168.1.0/24, dest_ip: 10.0.0.0/8, proto: tcp, family: ipv4, sticky: '1', timeout: '300', src_port: '1024', dest_port: '443', use_policy: balance_1, sdewan_made: Mwan3Rule/all_fields }
`,
  },
};
