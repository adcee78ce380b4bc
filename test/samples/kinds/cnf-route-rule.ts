/** Samples of CNFRouteRule. */
import type { Samples } from '../samples.ts';
import * as uci from '../uci-table.ts';

export const samples: Samples = {
  kind: 'CNFRouteRule',
  ofIcn: [
    {
      name: 'routerule1',
      spec: {
        src: '192.168.3.0/24',
        dst: '',
        not: false,
        prio: '100',
        fwmark: '0x10',
        table: '40',
      },
    },
  ],
  rendered: [
    {
      name: 'all-fields',
      spec: {
        src: '192.168.1.0/24',
        dst: '10.0.0.0/8',
        not: true,
        prio: 100,
        fwmark: 16,
        table: 40,
      },
    },
    { name: 'v6', spec: { src: '', dst: '2001:db8::/32', not: false } },
    {
      name: 'all-fields-2',
      spec: {
        src: '192.168.1.0/24',
        dst: '10.0.0.0/8',
        not: true,
        prio: 100,
        fwmark: '0x10',
        table: 40,
      },
    },
    { name: 'a-place.behind', spec: { src: '192.168.2.0/24' } },
  ],
  accepted: {
    'a route rule with numbers': {
      spec: { fwmark: 16, table: 40, prio: 100, not: true },
    },
  },
  refused: {
    'a route rule for everything': {
      spec: { table: 40, prio: 100 },
      server: 'src, dst or fwmark is required',
    },
  },
  fields: {
    section: (name) => `sdewan_rule_${uci.mapped(name)}`,
    type: ({ src, dst }: uci.Spec) =>
      [src, dst].some((value) => String(value).includes(':')) ? 'rule6' : 'rule',
    always: () => ({ lookup: 'main' }),
    special: {
      dst: (value) => ({ dest: value }),
      not: (value) => (value === true ? { invert: '1' } : {}),
      prio: (value) => ({ priority: String(value) }),
      fwmark: (value) => ({ mark: String(value) }),
      table: (value) => ({ lookup: String(value) }),
    },
  },
  icnFields: {
    file: 'rule-cnf',
    type: 'rule',
    // Behind rules that have a place.
    always: () => ({ prio: '32000' }),
    special: { not: (value) => (value === true ? { flag: '1' } : {}) },
  },
  life: {
    name: 'k-rrule',
    spec: { src: '10.0.0.0/8', table: 40 },
    changed: { src: '10.0.0.0/8', table: 41 },
    shows: ['network.sdewan_rule_k_rrule lookup', '40', '41'],
  },
  kernel: {
    fw4: {
      created: [/^rule \d+: from 10\.0\.0\.0\/8 lookup 40$/],
      changed: [/^rule \d+: from 10\.0\.0\.0\/8 lookup 41$/],
    },
  },
  texts: {
    icn: String.raw`# CNFRouteRule/v6: UnsupportedByDriver: spec.dst: ICN's REST API takes one IPv4 address or network here

package rule-cnf

config rule
	option name 'routerule1'
	option src '192.168.3.0/24'
	option prio '100'
	option fwmark '0x10'
	option table '40'

config rule
	option name 'all_fields'
	option src '192.168.1.0/24'
	option dst '10.0.0.0/8'
	option flag '1'
	option prio '100'
	option fwmark '16'
	option table '40'

config rule
	option name 'all_fields_2'
	option src '192.168.1.0/24'
	option dst '10.0.0.0/8'
	option flag '1'
	option prio '100'
	option fwmark '0x10'
	option table '40'

config rule
	option name 'a_place_behind'
	option src '192.168.2.0/24'
	option prio '32000'
`,
    uci: String.raw`package network

config rule 'sdewan_rule_routerule1'
	option src '192.168.3.0/24'
	option priority '100'
	option mark '0x10'
	option lookup '40'

config rule 'sdewan_rule_all_fields'
	option src '192.168.1.0/24'
	option dest '10.0.0.0/8'
	option invert '1'
	option priority '100'
	option mark '16'
	option lookup '40'

config rule6 'sdewan_rule_v6'
	option dest '2001:db8::/32'
	option priority '32000'
	option lookup 'main'

config rule 'sdewan_rule_all_fields_2'
	option src '192.168.1.0/24'
	option dest '10.0.0.0/8'
	option invert '1'
	option priority '100'
	option mark '0x10'
	option lookup '40'

config rule 'sdewan_rule_a_place_behind'
	option src '192.168.2.0/24'
	option priority '32000'
	option lookup 'main'

`,
  },
};
