/** Samples of CNFRouteRule. */
import type { Samples } from '../samples.ts';
import * as uci from '../uci-table.ts';

/** With a length, without which netifd before July 2026 has the rule for all packets. */
const network = (value: unknown): string => {
  const text = String(value);
  if (text.includes('/')) return text;
  return text.includes(':') ? `${text}/128` : `${text}/32`;
};

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
    { name: 'a-host', spec: { src: '192.168.2.9', dst: '10.0.0.7' } },
    { name: 'a-host-v6', spec: { dst: '2001:db8::7' } },
  ],
  accepted: {
    'a route rule with numbers': { spec: { fwmark: 16, table: 40, prio: 100, not: true } },
  },
  refused: {
    'a route rule for everything': {
      spec: { table: 40, prio: 100 },
      server: 'src, dst or fwmark is required',
    },
    'a mark of 0, which the kernel takes for none': {
      spec: { fwmark: 0, table: 40 },
      server: 'all traffic would use the table',
    },
    'a mask of 0, which every mark fits': {
      spec: { fwmark: '0x10/0', table: 40 },
      server: 'all traffic would use the table',
    },
    'a table with a leading zero, which netifd reads as octal': {
      spec: { src: '10.9.9.0/24', table: '0100' },
      server: 'without leading zeros',
    },
    'a priority with a leading zero': {
      spec: { src: '10.9.9.0/24', prio: '0500' },
      server: 'without leading zeros',
    },
    'a mark with a leading zero': {
      spec: { fwmark: '010/0xff' },
      server: 'without leading zeros',
    },
    'a mask with a gap': {
      spec: { src: '10.9.9.0/255.0.255.0' },
      agent: 'spec.src: must be an IPv4 or IPv6 address',
    },
  },
  fields: {
    section: (name) => `sdewan_rule_${uci.mapped(name)}`,
    type: ({ src, dst }: uci.Spec) =>
      [src, dst].some((value) => String(value).includes(':')) ? 'rule6' : 'rule',
    always: () => ({ lookup: 'main' }),
    special: {
      src: (value) => ({ src: network(value) }),
      dst: (value) => ({ dest: network(value) }),
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
# CNFRouteRule/a-host-v6: UnsupportedByDriver: spec.dst: ICN's REST API takes one IPv4 address or network here

package rule-cnf
rule { name: routerule1, src: 192.168.3.0/24, prio: '100', fwmark: '0x10', table: '40' }
rule { name: all_fields, src: 192.168.1.0/24, dst: 10.0.0.0/8, flag: '1', prio: '100', fwmark: '16', table: '40' }
rule { name: all_fields_2, src: 192.168.1.0/24, dst: 10.0.0.0/8, flag: '1', prio: '100', fwmark: '0x10', table: '40' }
rule { name: a_place_behind, src: 192.168.2.0/24, prio: '32000' }
rule { name: a_host, src: 192.168.2.9, dst: 10.0.0.7, prio: '32000' }
`,
    uci: String.raw`package network
rule sdewan_rule_routerule1 { src: 192.168.3.0/24, priority: '100', mark: '0x10', lookup: '40' }
rule sdewan_rule_all_fields { src: 192.168.1.0/24, dest: 10.0.0.0/8, invert: '1', priority: '100', mark: '16', lookup: '40' }
rule6 sdewan_rule_v6 { dest: 2001:db8::/32, priority: '32000', lookup: main }
rule sdewan_rule_all_fields_2 { src: 192.168.1.0/24, dest: 10.0.0.0/8, invert: '1', priority: '100', mark: '0x10', lookup: '40' }
rule sdewan_rule_a_place_behind { src: 192.168.2.0/24, priority: '32000', lookup: main }
rule sdewan_rule_a_host { src: 192.168.2.9/32, dest: 10.0.0.7/32, priority: '32000', lookup: main }
rule6 sdewan_rule_a_host_v6 { dest: 2001:db8::7/128, priority: '32000', lookup: main }
`,
  },
};
