/**
 * What the tables of fields are made of: which UCI option each field of a spec becomes, after ICN's
 * field table (icn-sdwan 48d3ca6) and OpenWRT's documentation of firewall and mwan3. Written apart
 * from the kinds, to judge what they render. A field that a table does not name keeps its name.
 */

import { expect } from 'vitest';

export type Expected = { section: string; type: unknown; options: Record<string, unknown> };
export type Spec = Readonly<Record<string, unknown>>;

export type FieldTable = {
  section: (name: string) => string;
  /** May be an asymmetric matcher. */
  type: unknown;
  /** Fields that are no option of their own, or of another name or form. */
  special?: Readonly<Record<string, (value: unknown, name: string) => Record<string, unknown>>>;
  always?: (name: string, spec: Spec) => Record<string, unknown>;
};

export const INTERFACES: Readonly<Record<string, string>> = {
  'ovn-priv-net': 'net0',
  'ovn-net1': 'net1',
  'ovn-net2': 'net2',
};

export const mapped = (name: unknown): string => String(name).replaceAll(/[-.]/g, '_');
export const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
export const nothing = () => ({});
/** A blank- or comma-separated text: a list where it has several parts. */
export const several = (option: string) => (value: unknown) => {
  const [first, ...others] = String(value).split(/[ ,]+/);
  return { [option]: others.length === 0 ? first : [first, ...others] };
};
export const zone = (option: string) => (value: unknown) => ({
  [option]: value === '*' ? '*' : mapped(value),
});
/** fw4 takes no longer comments than 128 bytes; it adds 19 of its own. */
export const named = (name: string) => ({
  name: name.length <= 109 ? name : expect.stringMatching(`^${name.slice(0, 80)}.{0,29}$`),
});

export const redirect = (target: string): FieldTable => ({
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

/** Connections have sections of their own, which the kept texts show. */
export const remote: FieldTable = {
  section: mapped,
  type: 'remote',
  always: () => ({ enabled: '1' }),
  special: {
    name: nothing,
    type: nothing,
    force_crypto_proposal: nothing,
    remote: (value) => ({ gateway: value }),
    // Their options bear names of files, which the kept texts show.
    local_public_cert: nothing,
    local_private_cert: nothing,
    local_private_cert_from: nothing,
    shared_ca: nothing,
    pre_shared_key_from: () => ({ pre_shared_key: 'from-the-secret' }),
    crypto_proposal: (value) => ({ crypto_proposal: list(value).map(mapped) }),
    connections: (value) => {
      const transport = connectionsOf(value, 'transport');
      return {
        tunnel: connectionsOf(value, 'tunnel'),
        ...(transport.length > 0 ? { transport } : {}),
      };
    },
  },
};

const nameOf = (connection: unknown): string =>
  typeof connection === 'object' && connection !== null && 'name' in connection
    ? String(connection.name)
    : '';

export const connectionsOf = (connections: unknown, type: string): string[] =>
  list(connections)
    .filter((connection) => has(connection, 'conn_type', type))
    .map((connection) => mapped(nameOf(connection)));

const has = (value: unknown, key: string, wanted: string): boolean =>
  typeof value === 'object' &&
  value !== null &&
  Object.entries(value).some(([k, v]) => k === key && v === wanted);

export const networkOf = (member: unknown): string =>
  typeof member === 'object' && member !== null && 'network' in member
    ? String(member.network)
    : '';

/** Devices of the pod that goldens are rendered for. */
const DEVICES: Readonly<Record<string, string>> = {
  '#default': 'eth0',
  '#10.1.2.3': 'net1',
  '#source': 'net1',
};
export const device = (value: unknown): string => DEVICES[String(value)] ?? String(value);
/** The zone that stands for a device; its name is a hash. */
export const deviceZone = expect.stringMatching(/^sd[0-9a-f]{8}$/);

export const destination = (value: unknown): string =>
  value === 'default' ? '0.0.0.0/0' : String(value);

export const multiport = (value: unknown): string =>
  String(value).split(/[ ,]+/).join(',').replaceAll('-', ':');

/** The section that a CR must become, with at least these options. */
export const expectedSection = (table: FieldTable, name: string, spec: Spec): Expected => {
  const options: Record<string, unknown> = { ...table.always?.(name, spec) };
  for (const [field, value] of Object.entries(spec)) {
    const special = table.special?.[field];
    if (value === '' || (Array.isArray(value) && value.length === 0)) continue;
    if (special) Object.assign(options, special(value, name));
    else options[field] = Array.isArray(value) ? value.map(String) : String(value);
  }
  return {
    section: table.section(name),
    type: typeof table.type === 'function' ? table.type(spec) : table.type,
    options,
  };
};
