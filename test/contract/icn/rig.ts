/** The device that ICN's exchanges were recorded on, as far as they show it. */
import { MWAN3, NETWORK } from '../ubus/rig.ts';

type Options = Readonly<Record<string, string | readonly string[]>>;

export const section = (type: string, options: Options, name?: string): string =>
  `\nconfig ${type}${name === undefined ? '' : ` '${name}'`}\n${Object.entries(options)
    .flatMap(([option, value]) =>
      typeof value === 'string'
        ? [`\toption ${option} '${value}'\n`]
        : value.map((item) => `\tlist ${option} '${item}'\n`),
    )
    .join('')}`;

const ICMP_ERRORS = [
  'destination-unreachable',
  'packet-too-big',
  'time-exceeded',
  'bad-header',
  'unknown-header-type',
];
const ICMP6_INPUT = [
  'echo-request',
  'echo-reply',
  ...ICMP_ERRORS,
  'router-solicitation',
  'neighbour-solicitation',
  'router-advertisement',
  'neighbour-advertisement',
];
const MLD = ['130/0', '131/0', '132/0', '143/0'];

const rule = (name: string, options: Options): string =>
  section('rule', { name, src: 'wan', ...options, target: 'ACCEPT' });
const icmp6 = { proto: 'icmp', family: 'ipv6' };

const FIREWALL = [
  section('defaults', { input: 'ACCEPT', output: 'ACCEPT', forward: 'REJECT' }),
  section('zone', {
    name: 'lan',
    network: ['lan'],
    input: 'ACCEPT',
    output: 'ACCEPT',
    forward: 'ACCEPT',
  }),
  section('zone', {
    name: 'wan',
    network: ['wan', 'wan6'],
    input: 'REJECT',
    output: 'ACCEPT',
    forward: 'DROP',
    masq: '1',
    mtu_fix: '1',
  }),
  section('forwarding', { src: 'lan', dest: 'wan' }),
  rule('Allow-DHCP-Renew', { proto: 'udp', dest_port: '68', family: 'ipv4' }),
  rule('Allow-Ping', { proto: 'icmp', icmp_type: 'echo-request', family: 'ipv4' }),
  rule('Allow-IGMP', { proto: 'igmp', family: 'ipv4' }),
  rule('Allow-DHCPv6', { proto: 'udp', dest_port: '546', family: 'ipv6' }),
  rule('Allow-MLD', { ...icmp6, src_ip: 'fe80::/10', icmp_type: MLD }),
  rule('Allow-ICMPv6-Input', { ...icmp6, icmp_type: ICMP6_INPUT, limit: '1000/sec' }),
  rule('Allow-ICMPv6-Forward', {
    ...icmp6,
    dest: '*',
    icmp_type: ['echo-request', 'echo-reply', ...ICMP_ERRORS],
    limit: '1000/sec',
  }),
  rule('Allow-IPSec-ESP', { dest: 'lan', proto: 'esp' }),
  rule('Allow-ISAKMP', { dest: 'lan', proto: 'udp', dest_port: '500' }),
].join('');

export const PACKAGES_OF_REST = {
  firewall: FIREWALL,
  mwan3: MWAN3,
  network: NETWORK,
  ipsec: section('ipsec', { debug: '1' }),
};

const interfaceAt = (name: string, device: string, ipaddr: string): string =>
  section('interface', { device, proto: 'static', ipaddr, netmask: '255.255.255.0' }, name);

/** The second recording: firewall3, and devices with fixed addresses and no default route. */
export const PACKAGES_OF_MORE = {
  firewall: section('defaults', { input: 'ACCEPT', output: 'ACCEPT', forward: 'ACCEPT' }),
  mwan3: MWAN3,
  network: [
    interfaceAt('lan', 'eth0', '192.168.1.1'),
    interfaceAt('wan', 'net1', '10.10.70.39'),
    interfaceAt('wan2', 'net2', '10.10.80.39'),
    interfaceAt('ovn_net1', 'net1', '172.16.30.10'),
  ].join(''),
  ipsec: section('ipsec', { debug: '1' }),
};

export const USER_RULES = [
  '-t nat -A PREROUTING -i net1 -j DNAT --to-destination 10.96.0.50',
  '-t nat -A POSTROUTING -o eth0 -j MASQUERADE',
];
