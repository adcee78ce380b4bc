import { describe, expect, it } from 'vitest';
import { ASSUMED } from '../resources/capabilities.ts';
import { compile } from './compile.ts';
import { inputOf, ruleOf } from './testing.ts';

type Case = [what: string, kind: string, spec: object, fw4?: string, fw3?: string];

const EXTRA = 'spec.extra: fw4 ignores arguments of iptables';
const PORTS = 'nft leaves out only packets that have this port and that of src_port';
const NEGATED = 'spec.proto: fw4 leaves out the "!"';
const NO_ICMP = "spec.icmp_type: OpenWRT's firewall looks at it for icmp and ipv6-icmp only";
const NOT_IN_4 = 'spec.icmp_type: none of these exists in IPv4';
const NOT_IN_6 = 'spec.icmp_type: none of these exists in IPv6';
const SOURCES = "spec.src: OpenWRT's firewall does not look at it here";
const NUMBER = 'spec.icmp_type: a number is another type in ICMPv6';
const ICMP = { target: 'ACCEPT', proto: 'icmp' };

/** Each as the kernel of a device with fw4 had it before they were left out (docs/firewall4.md). */
const CASES: readonly Case[] = [
  ['arguments of iptables', 'FirewallRule', { extra: '-m string' }, EXTRA],
  ['those between devices', 'NetworkFirewallRule', { src: 'net1', extra: '-m string' }, EXTRA],
  ['those of a zone', 'FirewallZone', { extra_src: '-m x' }, 'spec.extra_src: fw4'],
  ["those in ICN's spelling", 'FirewallZone', { etra_dest: '-m x' }, 'spec.etra_dest: fw4'],
  ['a negated protocol', 'FirewallRule', { proto: '!tcp' }, NEGATED],
  ['one of several', 'FirewallSNAT', { proto: 'icmp !tcp' }, NEGATED],
  ['one that is redirected', 'FirewallDNAT', { proto: '!tcp' }, NEGATED],
  ['one between devices', 'NetworkFirewallRule', { src: 'net1', proto: '!udp' }, NEGATED],
  ['one that is translated', 'CNFNAT', { dest: 'net1', proto: '!tcp' }, NEGATED],
  [
    'a port less on both sides',
    'FirewallRule',
    { src_port: '!80', dest_port: '!443-443' },
    `spec.dest_port: ${PORTS}`,
  ],
  [
    'those between devices',
    'NetworkFirewallRule',
    { src: 'net1', proto: 'tcp', src_port: '!80', dest_port: '!443' },
    `spec.dest_port: ${PORTS}`,
  ],
  [
    'those that are redirected',
    'FirewallDNAT',
    { src_port: '!80', src_dport: '!443' },
    `spec.src_dport: ${PORTS}`,
  ],
  [
    'those of a source',
    'FirewallSNAT',
    { src_port: '!80', dest_port: '!443' },
    `spec.dest_port: ${PORTS}`,
  ],
  ['ports less on one side', 'FirewallRule', { src_port: '!80', dest_port: '443' }],
  ['ranges less', 'FirewallRule', { src_port: '!80', dest_port: '!443-444' }],
  ['several less', 'FirewallRule', { src_port: '!80 !81', dest_port: '!443' }],
  ['ICMP types without a protocol', 'FirewallRule', { icmp_type: ['ping'] }, NO_ICMP, NO_ICMP],
  [
    'those of other protocols',
    'FirewallRule',
    { proto: 'icmp tcp', icmp_type: ['ping'] },
    NO_ICMP,
    NO_ICMP,
  ],
  [
    'those between devices without a protocol',
    'NetworkFirewallRule',
    { src: 'net1', icmp_type: ['ping'] },
    NO_ICMP,
    NO_ICMP,
  ],
  [
    'those of IPv4 in ipv6-icmp',
    'FirewallRule',
    { proto: '58', icmp_type: ['source-quench'] },
    NOT_IN_6,
  ],
  [
    'those of IPv4 for any family',
    'FirewallRule',
    { ...ICMP, icmp_type: ['source-quench'], family: 'any' },
    NOT_IN_6,
  ],
  [
    'those of IPv6 in IPv4',
    'FirewallRule',
    { ...ICMP, icmp_type: ['neighbour-solicitation'], family: 'ipv4' },
    NOT_IN_4,
  ],
  [
    'those of IPv6 with an address of IPv4',
    'FirewallRule',
    { ...ICMP, icmp_type: ['neighbour-solicitation'], src_ip: '10.0.0.1' },
    NOT_IN_4,
  ],
  [
    'the destination of what is not tracked',
    'FirewallRule',
    { target: 'NOTRACK', src: 'lan', dest: 'wan' },
    "spec.dest: OpenWRT's firewall does not look at it",
    "spec.dest: OpenWRT's firewall does not look at it",
  ],
  ['the zone of sources that have no addresses', 'FirewallSNAT', { src: 'lan' }, SOURCES, SOURCES],
  [
    'that of sources whose addresses are all but some',
    'FirewallSNAT',
    { src: 'lan', src_ip: '!10.0.0.0/8' },
    SOURCES,
    SOURCES,
  ],
  ['nothing of one beside addresses', 'FirewallSNAT', { src: 'wan', src_ip: '10.0.0.0/8' }],
  [
    'any beside other ICMP types',
    'FirewallRule',
    { ...ICMP, icmp_type: ['any', 'ping'] },
    'spec.icmp_type: fw4 reads any as type 255',
  ],
  [
    'the family of a number beside a type of ICMPv6',
    'FirewallRule',
    { ...ICMP, icmp_type: ['8', 'neighbour-solicitation'] },
    NUMBER,
    NUMBER,
  ],
  ['nothing of ICMP types of both', 'FirewallRule', { ...ICMP, icmp_type: ['ping', '3/4'] }],
  [
    'nothing where one of the types is in each family',
    'FirewallRule',
    { ...ICMP, icmp_type: ['neighbour-solicitation', 'source-quench'], family: 'any' },
  ],
  [
    'nothing of types of one family where no other is asked for',
    'FirewallRule',
    { ...ICMP, icmp_type: ['neighbour-solicitation'] },
  ],
];

/** What each kind needs besides. */
const LEAST: Readonly<Record<string, object>> = {
  FirewallRule: { target: 'ACCEPT' },
  NetworkFirewallRule: { target: 'ACCEPT' },
  FirewallZone: { network: ['ovn-net1'] },
  FirewallSNAT: { dest: 'wan', src_dip: '1.2.3.4' },
  FirewallDNAT: { src: 'wan', dest_ip: '1.2.3.4' },
  CNFNAT: { target: 'MASQUERADE' },
};

/** What keeps it from OpenWRT; undefined when nothing does. */
const problem = (kind: string, spec: object, firewall: 'fw3' | 'fw4'): string | undefined => {
  const rule = ruleOf(kind, 'r', { ...LEAST[kind], ...spec });
  const { verdicts, desired } = compile(
    inputOf([rule], { capabilities: { ...ASSUMED, firewall } }),
  );
  const [verdict] = verdicts;
  const isWritten = desired.get('firewall')?.length !== 0;
  expect(isWritten).toBe(verdict?.verdict === 'wanted');
  return isWritten ? undefined : `${verdict?.reason} ${verdict?.message}`;
};

describe('a rule is not written when the firewall would match other packets, because it leaves out', () => {
  it.each(CASES)('%s', (_what, kind, spec, onFw4, onFw3) => {
    for (const [firewall, why] of [
      ['fw4', onFw4],
      ['fw3', onFw3],
    ] as const) {
      const wanted = why === undefined ? undefined : `UnsupportedByDriver ${why}`;
      const found = problem(kind, spec, firewall)?.slice(0, wanted?.length);
      expect({ firewall, found }).toEqual({ firewall, found: wanted });
    }
  });
});

describe('ICMP types are written as firewalls understand them', () => {
  type Options = { icmp_type?: unknown; family?: unknown };
  const written = (kind: string, spec: object, firewall: 'fw3' | 'fw4' = 'fw4'): Options => {
    const rule = ruleOf(kind, 'r', { ...LEAST[kind], ...ICMP, ...spec });
    const capabilities = { ...ASSUMED, firewall };
    const sections = compile(inputOf([rule], { capabilities })).desired.get('firewall') ?? [];
    const { icmp_type, family } = sections.find(({ type }) => type === 'rule')?.options ?? {};
    return { icmp_type, family };
  };
  const number = { icmp_type: ['8'] };

  it.each(['FirewallRule', 'NetworkFirewallRule'])('%s', (kind) => {
    const of = (spec: object, firewall?: 'fw3') =>
      written(kind, { ...(kind === 'FirewallRule' ? {} : { src: 'net1' }), ...spec }, firewall);
    expect(of({ icmp_type: ['any'] })).toEqual({ icmp_type: undefined, family: 'ipv4' });
    expect(of({ icmp_type: ['any'] }, 'fw3')).toEqual({ icmp_type: ['any'], family: 'ipv4' });
    expect(of(number)).toEqual({ ...number, family: 'ipv4' });
    expect(of({ icmp_type: ['3/4', 'ping'] })).toMatchObject({ family: 'ipv4' });
  });

  it.each([
    ['a family', { ...number, family: 'any' }, 'any'],
    ['the protocol', { ...number, proto: 'ipv6-icmp' }, undefined],
    ['an address', { ...number, src_ip: '2001:db8::1' }, undefined],
    ['nothing but names of both', { icmp_type: ['ping'] }, undefined],
  ])('%s says enough', (_what, spec, family) => {
    expect(written('FirewallRule', spec).family).toBe(family);
  });
});
