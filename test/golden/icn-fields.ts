/**
 * Which option in which file each field of a spec becomes through ICN's REST API, after ICN's field table and the recorded answers
 * (icn-sdwan 48d3ca6): written apart from kinds and driver, to judge what they come to. A field that is not named here keeps its name.
 */
import { expect } from 'vitest';
import {
  connectionsOf,
  device,
  INTERFACES,
  list,
  mapped,
  networkOf,
  type Spec,
} from './fields.ts';

type Options = Record<string, unknown>;
type Field = (value: unknown, name: string) => Options;
type Table = {
  file: string;
  type: string;
  /** The name is the section's; else it is the option `name` of a section without one. */
  isNamed?: true;
  special?: Readonly<Record<string, Field>>;
  always?: () => Options;
};

const nothing: Field = () => ({});
const named =
  (option: string): Field =>
  (value) => ({ [option]: mapped(value) });
/** With the word that ICN has for both. */
const proto: Field = (value) => ({
  proto: ['tcp udp', 'udp tcp'].includes(String(value)) ? 'tcpudp' : value,
});
const inZones = { name: nothing, src: named('src'), dest: named('dest'), proto };
/** ICN looks the device up once more, and keeps what it found. */
const found =
  (option: string): Field =>
  (value) => ({ [option]: device(value), [`${option}_val`]: device(value) });

/** Connections are sections of their own, which the kept texts show. */
const remote: Table = {
  file: 'ipsec',
  type: 'remote',
  isNamed: true,
  always: () => ({ enabled: '1' }),
  special: {
    name: nothing,
    remote: (value) => ({ gateway: value }),
    pre_shared_key_from: () => ({ pre_shared_key: 'from-the-secret' }),
    crypto_proposal: (value) => ({ crypto_proposal: list(value).map(mapped) }),
    connections: (value) =>
      Object.fromEntries(
        ['tunnel', 'transport']
          .map((type) => [type, connectionsOf(value, type)] as const)
          .filter(([, names]) => names.length > 0),
      ),
  },
};
const redirect = (target: string): Table => ({
  file: 'firewall',
  type: 'redirect',
  always: () => ({ target }),
  special: inZones,
});

const tables: Readonly<Record<string, Table>> = {
  FirewallZone: {
    file: 'firewall',
    type: 'zone',
    special: {
      network: (value) => ({ network: list(value).map((name) => INTERFACES[String(name)]) }),
    },
  },
  FirewallForwarding: { file: 'firewall', type: 'forwarding', special: inZones },
  FirewallRule: { file: 'firewall', type: 'rule', special: inZones },
  FirewallSNAT: redirect('SNAT'),
  FirewallDNAT: redirect('DNAT'),
  NetworkFirewallRule: {
    file: 'firewall-rule',
    type: 'rule',
    // iptables knows IPv4 only.
    special: { name: nothing, family: nothing, src: found('src'), dest: found('dest'), proto },
  },
  CNFNAT: {
    file: 'firewall-nat',
    type: 'nat',
    special: {
      name: nothing,
      index: nothing,
      src: (value) => ({ src: device(value) }),
      dest: (value) => ({ dest: device(value) }),
      proto,
    },
  },
  CNFRoute: { file: 'route-cnf', type: 'route', special: { dev: found('dev') } },
  CNFRouteRule: {
    file: 'rule-cnf',
    type: 'rule',
    // Behind rules that have a place.
    always: () => ({ prio: '32000' }),
    special: { not: (value) => (value === true ? { flag: '1' } : {}) },
  },
  SdewanApplication: {
    file: 'app-cnf',
    type: 'rule',
    isNamed: true,
    always: () => ({ src: expect.stringMatching(/^10\.244\.1\.5\b/) }),
    special: { podSelector: nothing, appNamespace: nothing, servicePort: nothing, cnfPort: nothing },
  },
  Mwan3Policy: {
    file: 'mwan3',
    type: 'policy',
    isNamed: true,
    special: {
      members: (value, name) => ({
        use_member: list(value).map(
          (member) => `${mapped(name)}_${INTERFACES[networkOf(member)]}`,
        ),
      }),
    },
  },
  Mwan3Rule: {
    file: 'mwan3',
    type: 'rule',
    isNamed: true,
    special: { policy: named('use_policy') },
  },
  IpsecProposal: { file: 'ipsec', type: 'proposal', isNamed: true, special: { name: nothing } },
  IpsecHost: remote,
  IpsecSite: remote,
};

export type IcnSection = { file: string; type: string; name: string | undefined; options: Options };

/** The section that a CR must become, with at least these options; undefined for kinds that are not sent to ICN's REST. */
export const icnSectionOf = (kind: string, name: string, spec: Spec): IcnSection | undefined => {
  const table = tables[kind];
  if (!table) return undefined;
  const { file, type, isNamed } = table;
  const options = {
    ...(!isNamed && { name: mapped(name) }),
    ...table.always?.(),
    ...Object.assign({}, ...Object.entries(spec).filter(isSet).map(optionsOf(table, name))),
  };
  return { file, type, name: isNamed && mapped(name), options };
};

const isSet = ([, value]: [string, unknown]): boolean =>
  value !== '' && !(Array.isArray(value) && value.length === 0);

const optionsOf =
  ({ special }: Table, name: string) =>
  ([field, value]: [string, unknown]): Options =>
    Object.fromEntries(
      Object.entries(special?.[field]?.(value, name) ?? { [field]: value }).map(
        ([option, given]) => [option, Array.isArray(given) ? given.map(String) : String(given)],
      ),
    );
