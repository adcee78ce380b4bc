/**
 * Which UCI option each field of a spec becomes, after ICN's field table (icn-sdwan 48d3ca6) and OpenWRT's documentation of
 * firewall and mwan3: written apart from the kinds, to judge what they render. A field that is not named here keeps its name.
 */

import { expect } from 'vitest';

type Expected = { section: string; type: unknown; options: Record<string, unknown> };
export type Spec = Readonly<Record<string, unknown>>;

type KindTable = {
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

/** Connections have sections of their own, which the kept texts show. */
const remote: KindTable = {
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
      return { tunnel: connectionsOf(value, 'tunnel'), ...(transport.length > 0 ? { transport } : {}) };
    },
  },
};

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
  NetworkFirewallRule: {
    section: (name) => `sdewan_net_${mapped(name)}`,
    type: 'rule',
    always: (name, { src, dest, target }) =>
      target === 'MARK' || target === 'NOTRACK'
        ? { name, src: deviceZone, proto: 'all' }
        : {
            name,
            proto: 'all',
            src: '*',
            device: device(src),
            direction: 'in',
            ...(dest === undefined ? {} : { dest: deviceZone }),
          },
    special: {
      name: nothing,
      src: nothing,
      dest: nothing,
      src_ip: several('src_ip'),
      dest_ip: several('dest_ip'),
      src_port: several('src_port'),
      dest_port: several('dest_port'),
      src_mac: several('src_mac'),
      proto: several('proto'),
    },
  },
  CNFNAT: {
    section: (name) => `sdewan_nat_${mapped(name)}`,
    type: ({ target }: Spec) => (target === 'DNAT' ? 'redirect' : 'nat'),
    always: (name, { target, src_dip, src_dport }) =>
      target === 'DNAT'
        ? { name, proto: 'all', src: deviceZone, src_dip, src_dport: String(src_dport) }
        : { name, proto: 'all', ...(src_dip === undefined ? {} : { snat_ip: src_dip }), ...(src_dport === undefined ? {} : several('snat_port')(src_dport)) },
    special: {
      name: nothing,
      index: nothing,
      src: nothing,
      src_dip: nothing,
      src_dport: nothing,
      dest: (value) => ({ device: device(value) }),
      proto: several('proto'),
    },
  },
  CNFRoute: {
    section: (name) => `sdewan_route_${mapped(name)}`,
    type: ({ dst }: Spec) => (String(dst).includes(':') ? 'route6' : 'route'),
    special: {
      dst: (value) => ({ target: destination(value) }),
      gw: (value) => ({ gateway: value }),
      dev: (value) => ({ interface: `if_${device(value)}` }),
      table: (value) => (value === 'cnf' ? { table: '40' } : {}),
    },
  },
  CNFRouteRule: {
    section: (name) => `sdewan_rule_${mapped(name)}`,
    type: ({ src, dst }: Spec) => ([src, dst].some((value) => String(value).includes(':')) ? 'rule6' : 'rule'),
    always: () => ({ lookup: 'main' }),
    special: {
      dst: (value) => ({ dest: value }),
      not: (value) => (value === true ? { invert: '1' } : {}),
      prio: (value) => ({ priority: String(value) }),
      fwmark: (value) => ({ mark: String(value) }),
      table: (value) => ({ lookup: String(value) }),
    },
  },
  /** One section per address; this is the first. */
  SdewanApplication: {
    section: (name) => `sdewan_app_${mapped(name)}_10_244_1_5`,
    type: 'rule',
    always: () => ({ src: '10.244.1.5', lookup: '40' }),
    special: { podSelector: nothing, appNamespace: nothing, servicePort: nothing, cnfPort: nothing },
  },
  /** Of the CNFNAT that is made of it; of several, the first. */
  CNFService: {
    section: (name) => `sdewan_nat_${mapped(name)}nat`,
    type: 'redirect',
    always: () => ({ target: 'DNAT', proto: 'tcp', src: deviceZone }),
    special: {
      fullname: () => ({ dest_ip: '192.0.2.10' }),
      port: (value) => ({ src_dport: String(value) }),
      dport: (value) => ({ dest_port: String(value) }),
      cidr: nothing,
    },
  },
  CNFLocalService: {
    section: (name) => `sdewan_nat_${mapped(name)}nat0`,
    type: 'redirect',
    always: () => ({ target: 'DNAT', proto: 'tcp', src: deviceZone }),
    special: {
      localservice: () => ({ dest_ip: '10.9.9.9' }),
      localport: (value) => ({ dest_port: String(value) }),
      remoteservice: () => ({ src_dip: '192.0.2.20' }),
      remoteport: (value) => ({ src_dport: String(value) }),
    },
  },
  CNFHubSite: {
    section: (name) => `sdewan_route_${mapped(name)}route0`,
    type: 'route',
    always: (_name, { type }) =>
      type === 'Hub' ? { interface: 'if_vti_10.1.2.3' } : { interface: 'if_net1', table: '40' },
    special: {
      type: nothing,
      site: nothing,
      subnet: (value) => ({ target: value }),
      hubip: nothing,
      devicepip: nothing,
    },
  },
  IpsecProposal: {
    section: mapped,
    type: expect.stringMatching(/^(crypto_)?proposal$/),
    special: { name: nothing },
  },
  IpsecHost: remote,
  IpsecSite: remote,
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
  typeof value === 'object' && value !== null && Object.entries(value).some(([k, v]) => k === key && v === wanted);

export const networkOf = (member: unknown): string =>
  typeof member === 'object' && member !== null && 'network' in member ? String(member.network) : '';

/** Devices of the pod that goldens are rendered for. */
const DEVICES: Readonly<Record<string, string>> = {
  '#default': 'eth0',
  '#10.1.2.3': 'net1',
  '#source': 'net1',
};
export const device = (value: unknown): string => DEVICES[String(value)] ?? String(value);
/** The zone that stands for a device; its name is a hash. */
const deviceZone = expect.stringMatching(/^sd[0-9a-f]{8}$/);

const destination = (value: unknown): string =>
  value === 'default' ? '0.0.0.0/0' : String(value);

const multiport = (value: unknown): string =>
  String(value).split(/[ ,]+/).join(',').replaceAll('-', ':');

/** The sections that a CR must become, with at least these options. */
export const expectedOptions = (kind: string, name: string, spec: Spec): Expected[] => {
  const table = tables[kind];
  if (!table) throw new Error(`test/golden/fields.ts has no table for ${kind}`);
  const options: Record<string, unknown> = { ...table.always?.(name, spec) };
  for (const [field, value] of Object.entries(spec)) {
    const special = table.special?.[field];
    if (value === '' || (Array.isArray(value) && value.length === 0)) continue;
    if (special) Object.assign(options, special(value, name));
    else options[field] = Array.isArray(value) ? value.map(String) : String(value);
  }
  return [{ section: table.section(name), type: typeof table.type === 'function' ? table.type(spec) : table.type, options }];
};
