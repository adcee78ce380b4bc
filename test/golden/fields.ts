/**
 * Which UCI option each field of a spec becomes, after ICN's field table (icn-sdwan 48d3ca6) and OpenWRT's documentation of
 * firewall and mwan3: written apart from the kinds, to judge what they render. A field that is not named here keeps its name.
 */

import { expect } from 'vitest';

type Expected = { section: string; type: string; options: Record<string, unknown> };
export type Spec = Readonly<Record<string, unknown>>;

type KindTable = {
  section: (name: string) => string;
  type: string;
  /** Fields that are no option of their own, or of another name or form. */
  special?: Readonly<Record<string, (value: unknown, name: string) => Record<string, unknown>>>;
  always?: (name: string) => Record<string, unknown>;
};

const INTERFACES: Readonly<Record<string, string>> = {
  'ovn-priv-net': 'net0',
  'ovn-net1': 'net1',
  'ovn-net2': 'net2',
};

const mapped = (name: unknown): string => String(name).replaceAll(/[-.]/g, '_');
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const nothing = () => ({});
/** A blank- or comma-separated text: a list where it has several parts. */
const several = (option: string) => (value: unknown) => {
  const [first, ...others] = String(value).split(/[ ,]+/);
  return { [option]: others.length === 0 ? first : [first, ...others] };
};
const zone = (option: string) => (value: unknown) => ({
  [option]: value === '*' ? '*' : mapped(value),
});
/** fw4 takes no longer comments than 128 bytes; it adds 19 of its own. */
const named = (name: string) => ({
  name: name.length <= 109 ? name : expect.stringMatching(`^${name.slice(0, 80)}.{0,29}$`),
});

const redirect = (target: string): KindTable => ({
  section: (name) => `sdewan_${target.toLowerCase()}_${mapped(name)}`,
  type: 'redirect',
  always: (name) => ({ name, target }),
  special: {
    name: nothing,
    target: nothing,
    src: zone('src'),
    dest: zone('dest'),
    proto: several('proto'),
    src_mac: several('src_mac'),
  },
});

const tables: Readonly<Record<string, KindTable>> = {
  FirewallZone: {
    section: (name) => `sdewan_zone_${mapped(name)}`,
    type: 'zone',
    always: (name) => ({ name: mapped(name) }),
    special: {
      network: (value) => ({ network: list(value).map((name) => INTERFACES[String(name)]) }),
      etra_dest: (value) => ({ extra_dest: value }),
    },
  },
  FirewallForwarding: {
    section: (name) => `sdewan_fwd_${mapped(name)}`,
    type: 'forwarding',
    always: named,
    special: { name: nothing, src: zone('src'), dest: zone('dest') },
  },
  FirewallRule: {
    section: (name) => `sdewan_rule_${mapped(name)}`,
    type: 'rule',
    always: named,
    special: {
      name: nothing,
      src: zone('src'),
      dest: zone('dest'),
      src_ip: several('src_ip'),
      dest_ip: several('dest_ip'),
      src_port: several('src_port'),
      dest_port: several('dest_port'),
      src_mac: several('src_mac'),
      proto: several('proto'),
    },
  },
  FirewallSNAT: redirect('SNAT'),
  FirewallDNAT: redirect('DNAT'),
  Mwan3Policy: {
    section: mapped,
    type: 'policy',
    special: {
      members: (value, name) => ({
        use_member: list(value).map(
          (member) => `${mapped(name)}_${INTERFACES[networkOf(member)]}`,
        ),
      }),
    },
  },
  Mwan3Rule: {
    section: mapped,
    type: 'rule',
    special: {
      policy: (value) => ({ use_policy: mapped(value) }),
      src_port: (value) => ({ src_port: multiport(value) }),
      dest_port: (value) => ({ dest_port: multiport(value) }),
    },
  },
};

const networkOf = (member: unknown): string =>
  typeof member === 'object' && member !== null && 'network' in member ? String(member.network) : '';

const multiport = (value: unknown): string =>
  String(value).split(/[ ,]+/).join(',').replaceAll('-', ':');

/** The sections that a CR must become, with at least these options. */
export const expectedOptions = (kind: string, name: string, spec: Spec): Expected[] => {
  const table = tables[kind];
  if (!table) throw new Error(`test/golden/fields.ts has no table for ${kind}`);
  const options: Record<string, unknown> = { ...table.always?.(name) };
  for (const [field, value] of Object.entries(spec)) {
    const special = table.special?.[field];
    if (value === '' || (Array.isArray(value) && value.length === 0)) continue;
    if (special) Object.assign(options, special(value, name));
    else options[field] = Array.isArray(value) ? value.map(String) : String(value);
  }
  return [{ section: table.section(name), type: table.type, options }];
};
