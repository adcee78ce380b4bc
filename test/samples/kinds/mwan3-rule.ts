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
    'mwan3 ports without a protocol': {
      spec: { policy: 'p', dest_port: '80' },
      server: 'ports need tcp or udp',
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

config member 'balance1_net1'
	option interface 'net1'
	option metric '2'
	option weight '2'

config member 'balance1_net2'
	option interface 'net2'
	option metric '3'
	option weight '3'

config policy 'balance1'
	list use_member 'balance1_net1'
	list use_member 'balance1_net2'

config member 'balance_1_net1'
	option interface 'net1'
	option metric '2'
	option weight '2'

config member 'balance_1_net2'
	option interface 'net2'
	option metric '1'
	option weight '3'

config policy 'balance_1'
	list use_member 'balance_1_net1'
	list use_member 'balance_1_net2'

config rule 'http_rule'
	option use_policy 'balance1'
	option src_ip '192.168.1.2'
	option dest_ip '0.0.0.0/0'
	option dest_port '80'
	option proto 'tcp'
	option family 'ipv4'
	option sticky '0'
	option timeout '300'

config rule 'all_fields'
	option use_policy 'balance_1'
	option src_ip '192.168.1.0/24'
	option src_port '1024'
	option dest_ip '10.0.0.0/8'
	option dest_port '443'
	option proto 'tcp'
	option family 'ipv4'
	option sticky '1'
	option timeout '300'
`,
    uci: String.raw`package mwan3

config member 'balance1_net1'
	option interface 'net1'
	option metric '2'
	option weight '2'
	option sdewan_made 'Mwan3Policy/balance1_net1'

config member 'balance1_net2'
	option interface 'net2'
	option metric '3'
	option weight '3'
	option sdewan_made 'Mwan3Policy/balance1_net2'

config policy 'balance1'
	list use_member 'balance1_net1'
	list use_member 'balance1_net2'
	option sdewan_made 'Mwan3Policy/balance1'

config member 'balance_1_net1'
	option interface 'net1'
	option metric '2'
	option weight '2'
	option sdewan_made 'Mwan3Policy/balance_1_net1'

config member 'balance_1_net2'
	option interface 'net2'
	option metric '1'
	option weight '3'
	option sdewan_made 'Mwan3Policy/balance_1_net2'

config policy 'balance_1'
	list use_member 'balance_1_net1'
	list use_member 'balance_1_net2'
	option sdewan_made 'Mwan3Policy/balance_1'

config rule 'http_rule'
	option src_ip '192.168.1.2'
	option dest_ip '0.0.0.0/0'
	option proto 'tcp'
	option family 'ipv4'
	option sticky '0'
	option timeout '300'
	option dest_port '80'
	option use_policy 'balance1'
	option sdewan_made 'Mwan3Rule/http_rule'

config rule 'every_field'
	option src_ip '192.168.1.0/24'
	option dest_ip '0.0.0.0/0'
	option proto 'tcp'
	option family 'ipv4'
	option sticky '1'
	option timeout '300'
	option src_port '1024:65535'
	option dest_port '80,443,8000:8100'
	option use_policy 'balance_1'
	option sdewan_made 'Mwan3Rule/every_field'

config rule 'built_in'
	option dest_ip '2001:db8::/32'
	option family 'ipv6'
	option use_policy 'unreachable'
	option sdewan_made 'Mwan3Rule/built_in'

config rule 'all_fields'
	option src_ip '192.168.1.0/24'
	option dest_ip '10.0.0.0/8'
	option proto 'tcp'
	option family 'ipv4'
	option sticky '1'
	option timeout '300'
	option src_port '1024'
	option dest_port '443'
	option use_policy 'balance_1'
	option sdewan_made 'Mwan3Rule/all_fields'

`,
  },
};
