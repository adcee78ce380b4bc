/** Samples of Mwan3Policy. */
import { rule } from '../../stack/rules.ts';
import type { Samples } from '../samples.ts';
import * as uci from '../uci-table.ts';

export const samples: Samples = {
  kind: 'Mwan3Policy',
  ofIcn: [
    {
      name: 'balance1',
      spec: {
        members: [
          { network: 'ovn-net1', weight: 2, metric: 2 },
          { network: 'ovn-net2', weight: 3, metric: 3 },
        ],
      },
    },
  ],
  rendered: [
    {
      name: 'balance-1',
      spec: {
        members: [
          { network: 'ovn-net1', weight: 2, metric: 2 },
          { network: 'ovn-net2', weight: 3, metric: 1 },
        ],
      },
    },
    {
      name: 'balance-2',
      spec: {
        members: [
          { network: 'ovn-net1', metric: 2, weight: 3 },
          { network: 'ovn-net2', metric: 1, weight: 4 },
        ],
      },
    },
  ],
  accepted: { 'a policy': { spec: { members: [{ network: 'ovn-net1', metric: 1, weight: 2 }] } } },
  refused: {
    'a policy name that mwan3 has built in': {
      name: 'blackhole',
      spec: { members: [{ network: 'ovn-net1', metric: 1, weight: 2 }] },
      server: 'mwan3 defines these itself',
    },
    'a policy with one network twice': {
      spec: {
        members: [
          { network: 'n', metric: 1, weight: 2 },
          { network: 'n', metric: 2, weight: 2 },
        ],
      },
      server: 'each network can be a member only once',
    },
    'a policy member out of range': {
      spec: { members: [{ network: 'n', metric: 0, weight: 2 }] },
      server: 'should be greater than or equal to 1',
    },
    'a metric with which mwan3 leaves a member out': {
      spec: { members: [{ network: 'n', metric: 257, weight: 2 }] },
      server: 'should be less than or equal to 256',
    },
  },
  fields: {
    section: uci.mapped,
    type: 'policy',
    special: {
      members: (value, name) => ({
        use_member: uci
          .list(value)
          .map((member) => `${uci.mapped(name)}_${uci.INTERFACES[uci.networkOf(member)]}`),
      }),
    },
  },
  icnFields: {
    file: 'mwan3',
    type: 'policy',
    isNamed: true,
    special: {
      members: (value, name) => ({
        use_member: uci
          .list(value)
          .map((member) => `${uci.mapped(name)}_${uci.INTERFACES[uci.networkOf(member)]}`),
      }),
    },
  },
  life: {
    name: 'k-policy',
    spec: { members: [{ network: 'ovn-net1', metric: 1, weight: 1 }] },
    changed: { members: [{ network: 'ovn-net1', metric: 1, weight: 2 }] },
    shows: ['mwan3.k_policy_net1 weight', '1', '2'],
  },
  kernel: {
    fw4: {
      created: [/^iptables mangle: -A mwan3_policy_k_policy .*"net1 1 1" /],
      changed: [/^iptables mangle: -A mwan3_policy_k_policy .*"net1 2 2" /],
    },
  },
  seedLife: [
    {
      rule: rule('Mwan3Policy', 'policy-1', {
        members: [{ network: 'ovn-net1', metric: 1, weight: 7 }],
      }),
      changed: { members: [{ network: 'ovn-net2', metric: 1, weight: 7 }] },
      shows: (is) => [
        {
          package: 'mwan3',
          type: 'policy',
          options: { use_member: [`policy_1_net${is ? 2 : 1}`] },
        },
        {
          package: 'mwan3',
          type: 'member',
          options: { interface: `net${is ? 2 : 1}`, metric: '1', weight: '7' },
        },
      ],
    },
  ],
  texts: {
    icn: String.raw`package mwan3
member balance1_net1 { interface: net1, metric: '2', weight: '2' }
member balance1_net2 { interface: net2, metric: '3', weight: '3' }
policy balance1 { use_member: [ balance1_net1, balance1_net2 ] }
member balance_1_net1 { interface: net1, metric: '2', weight: '2' }
member balance_1_net2 { interface: net2, metric: '1', weight: '3' }
policy balance_1 { use_member: [ balance_1_net1, balance_1_net2 ] }
member balance_2_net1 { interface: net1, metric: '2', weight: '3' }
member balance_2_net2 { interface: net2, metric: '1', weight: '4' }
policy balance_2 { use_member: [ balance_2_net1, balance_2_net2 ] }
`,
    uci: String.raw`package mwan3
member balance1_net1 { interface: net1, metric: '2', weight: '2', sdewan_made: Mwan3Policy/balance1_net1 }
member balance1_net2 { interface: net2, metric: '3', weight: '3', sdewan_made: Mwan3Policy/balance1_net2 }
policy balance1 { use_member: [ balance1_net1, balance1_net2 ], sdewan_made: Mwan3Policy/balance1 }
member balance_1_net1 { interface: net1, metric: '2', weight: '2', sdewan_made: Mwan3Policy/balance_1_net1 }
member balance_1_net2 { interface: net2, metric: '1', weight: '3', sdewan_made: Mwan3Policy/balance_1_net2 }
policy balance_1 { use_member: [ balance_1_net1, balance_1_net2 ], sdewan_made: Mwan3Policy/balance_1 }
member balance_2_net1 { interface: net1, metric: '2', weight: '3', sdewan_made: Mwan3Policy/balance_2_net1 }
member balance_2_net2 { interface: net2, metric: '1', weight: '4', sdewan_made: Mwan3Policy/balance_2_net2 }
policy balance_2 { use_member: [ balance_2_net1, balance_2_net2 ], sdewan_made: Mwan3Policy/balance_2 }
`,
  },
};
