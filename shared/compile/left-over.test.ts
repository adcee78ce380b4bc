import { describe, expect, it } from 'vitest';
import type { Dialect } from '../resources/capabilities.ts';
import { inDialect } from '../resources/dialect.ts';
import { kinds } from '../resources/registry.ts';
import type { RuleObject } from '../kube/objects.ts';
import type { UciSection } from '../uci/model.ts';
import { leftOversIn } from './left-over.ts';
import { namedSection, ruleOf } from './testing.ts';

const anonymous = (type: string, options: UciSection['options']): UciSection => ({
  name: 'cfg0a1b2c',
  anonymous: true,
  type,
  options,
});
const forwarding = anonymous('forwarding', { name: 'lan-wan', src: 'lan', dest: 'wan' });
const policy = (...use_member: string[]) => namedSection('policy', 'balance', { use_member });
const member = (name: string, network: string) =>
  namedSection('member', name, { interface: network });

type Case = {
  dialect?: Dialect;
  package: string;
  sections: UciSection[];
  rules?: RuleObject[];
  ours?: string[];
  unserved?: string[];
  names: string[];
};

const forwardingRule = ruleOf('FirewallForwarding', 'lan-wan', { src: 'lan', dest: 'wan' });
const nats = 'nat/nats';
const nat = namedSection('nats', 'web', { target: 'DNAT' });

const cases: Record<string, Case> = {
  'a forwarding with a name': { package: 'firewall', sections: [forwarding], names: ['lan-wan'] },
  'one of several of a name': {
    package: 'firewall',
    sections: [forwarding, forwarding],
    names: ['lan-wan'],
  },
  'in the order of their names': {
    package: 'firewall',
    sections: [
      anonymous('forwarding', { name: 'wan-lan', src: 'wan', dest: 'lan' }),
      anonymous('forwarding', { name: 'lan-wan', src: 'lan', dest: 'wan' }),
    ],
    names: ['lan-wan', 'wan-lan'],
  },
  'no forwarding without a name': {
    package: 'firewall',
    sections: [anonymous('forwarding', { src: 'lan', dest: 'wan' })],
    names: [],
  },
  'none whose rule exists, with a finalizer or not, going or not': {
    package: 'firewall',
    sections: [forwarding],
    rules: [forwardingRule],
    names: [],
  },
  'none for which a rule of another kind bears the name': {
    package: 'firewall',
    sections: [forwarding],
    rules: [ruleOf('FirewallRule', 'lan-wan', { target: 'DROP' })],
    names: ['lan-wan'],
  },
  'nothing of ours': {
    package: 'firewall',
    sections: [forwarding],
    ours: ['cfg0a1b2c'],
    names: [],
  },
  'nothing of kinds whose rules are not known': {
    package: 'firewall',
    sections: [forwarding],
    unserved: ['FirewallForwarding'],
    names: [],
  },
  'no zone, rule or redirect of the firewall, which administrators make alike': {
    package: 'firewall',
    sections: [
      anonymous('zone', { name: 'lan', network: ['lan'], input: 'ACCEPT' }),
      anonymous('rule', { name: 'Allow-Ping', src: 'wan', target: 'ACCEPT' }),
      anonymous('redirect', { name: 'web', src: 'wan', target: 'DNAT' }),
    ],
    names: [],
  },
  "a zone with ICN's misspelling": {
    package: 'firewall',
    sections: [anonymous('zone', { name: 'lan1', etra_dest: '-m x' })],
    names: ['lan1'],
  },
  'a policy whose members are called as ICN calls them': {
    package: 'mwan3',
    sections: [
      policy('balance_net1', 'balance_net2'),
      member('balance_net1', 'net1'),
      member('balance_net2', 'net2'),
    ],
    names: ['balance'],
  },
  'no policy with a member that is called otherwise': {
    package: 'mwan3',
    sections: [
      policy('balance_net1', 'net2_m1_w3'),
      member('balance_net1', 'net1'),
      member('net2_m1_w3', 'net2'),
    ],
    names: [],
  },
  'no policy without members': { package: 'mwan3', sections: [policy()], names: [] },
  "objects that ICN's REST keeps in packages of its own": {
    dialect: 'icn',
    package: nats,
    sections: [nat],
    names: ['web'],
  },
  'none of them whose rule exists': {
    dialect: 'icn',
    package: nats,
    sections: [nat],
    rules: [ruleOf('CNFNAT', 'web', { target: 'DNAT' })],
    names: [],
  },
  "forwardings over ICN's REST, but those that it shows by their ids": {
    dialect: 'icn',
    package: 'firewall/forwardings',
    sections: [namedSection('forwardings', 'cfg04ad58'), namedSection('forwardings', 'lan-wan')],
    names: ['lan-wan'],
  },
  "no zone and no policy over ICN's REST": {
    dialect: 'icn',
    package: 'firewall/zones',
    sections: [namedSection('zones', 'lan')],
    names: [],
  },
};

describe('what ICN has left', () => {
  it.each(Object.entries(cases))('is %s', (_what, given) => {
    const { dialect = 'uci', sections, rules = [], ours = [], unserved = [], names } = given;
    const leftOvers = leftOversIn({
      observed: new Map([[given.package, { name: given.package, sections }]]),
      rules,
      kinds: inDialect(kinds, dialect),
      unserved,
      isOurs: () => (section) => ours.includes(section.name),
    });
    expect(leftOvers.map(({ name }) => name)).toEqual(names);
    expect(leftOvers.every((one) => one.package === given.package)).toBe(true);
  });
});
