import { expect, test } from 'vitest';
import { parsePackage } from '../../uci/text.ts';
import { judgeFirewall } from './judge.ts';
import { subnetOf } from './subnets.ts';
import { refusals } from './nft.ts';

const ZONES = `
config defaults
	option input 'REJECT'
	option output 'ACCEPT'
	option forward 'REJECT'
config zone 'z_lan'
	option name 'lan'
	list network 'lan'
	option input 'ACCEPT'
config zone 'z_wan'
	option name 'wan'
`;
const judge = (text: string): ReturnType<typeof judgeFirewall> =>
  judgeFirewall(
    parsePackage('firewall', ZONES + text),
    new Map([
      ['lan', subnetOf('192.168.1.1', '255.255.255.0')],
      ['net1', undefined],
    ]),
  );
const section = (type: string, options: Record<string, string>): string =>
  `config ${type} 's'\n${Object.entries(options)
    .map(([name, value]) => `\toption ${name} '${value}'\n`)
    .join('')}`;
const rule = (options: Record<string, string>): string => section('rule', options);
const skipped = '[!] Section s skipped due to invalid options\n';

test.each<[string, string]>([
  ['the least', rule({})],
  [
    'lists in one option',
    rule({ src_ip: '10.0.0.1 10.1.0.0/16', proto: 'tcp udp', dest_port: '80 90-99' }),
  ],
  ['negation', rule({ src_ip: '!10.0.0.0/8', dest_port: '!22', src_mac: '!00:11:22:33:44:55' })],
  ['IPv6', rule({ family: 'ipv6', src_ip: 'fe80::/10', proto: 'icmp', icmp_type: 'echo-request' })],
  ['a range of addresses', rule({ dest_ip: '10.0.0.1-10.0.0.9' })],
  ['a logical network for an address', rule({ dest_ip: 'net1' })],
  ['any zone', rule({ src: '*', dest: 'wan', target: 'reject' })],
  ['the beginning of a target', rule({ src: 'lan', target: 'acc' })],
  ['a limit', rule({ limit: '1000/sec' })],
  ['a forwarding', section('forwarding', { src: 'lan', dest: 'wan' })],
  [
    'a port forward',
    section('redirect', { src: 'wan', src_dport: '80', dest: 'lan', dest_ip: '1.2.3.4' }),
  ],
  [
    'a source NAT',
    section('redirect', { target: 'SNAT', src: 'lan', dest: 'wan', src_dip: '1.2.3.4' }),
  ],
])('takes %s', (_, text) => {
  const judgement = judge(text);
  expect(judgement.warnings).toEqual([]);
  expect(judgement.taken.at(-1)?.section.name).toBe('s');
  expect(refusals(judgement)).toBe('');
});

test.each<[string, string, string]>([
  [
    'a bad address',
    rule({ src_ip: '10.0.0.300' }),
    "option 'src_ip' specifies invalid value '10.0.0.300'",
  ],
  ['an unknown zone', rule({ src: 'dmz' }), "option 'src' specifies invalid value 'dmz'"],
  [
    'a bad port',
    rule({ dest_port: '80000' }),
    "option 'dest_port' specifies invalid value '80000'",
  ],
  [
    'a range upside down',
    rule({ dest_port: '90-80' }),
    "option 'dest_port' specifies invalid value '90-80'",
  ],
  ['a bad target', rule({ target: 'LATER' }), "option 'target' specifies invalid value 'LATER'"],
  [
    'a bad type of ICMP',
    rule({ icmp_type: 'nosuch' }),
    "option 'icmp_type' specifies invalid value 'nosuch'",
  ],
  ['a zone without name', section('zone', {}), "option 'name' is mandatory but not set"],
  [
    'a forwarding without source',
    section('forwarding', { dest: 'wan' }),
    "option 'src' is mandatory but not set",
  ],
  [
    'two addresses of a redirect',
    "config redirect 's'\n\tlist src_ip '1.1.1.1'\n",
    "option 'src_ip' must not be a list",
  ],
  ['a negated device', rule({ device: '!eth0' }), "option 'device' must not be negated"],
])('leaves out %s, and says so', (_, text, message) => {
  const { warnings, taken } = judge(text);
  expect(warnings).toEqual([`[!] Section s ${message}\n`, skipped]);
  expect(taken.some((one) => one.section.name === 's')).toBe(false);
});

test.each<[string, string, string, boolean]>([
  ['an unknown option', rule({ desc: 'x' }), "specifies unknown option 'desc'", true],
  [
    'an option of iptables',
    rule({ extra: '-m x' }),
    "option 'extra' is not supported by fw4",
    true,
  ],
  [
    'a port forward whose zone fw4 finds by its address',
    section('redirect', { src: 'wan', dest_ip: '192.168.1.9' }),
    "does not specify a destination, assuming 'lan'",
    true,
  ],
  ['a disabled section', rule({ enabled: '0' }), 'is disabled, ignoring section', false],
  [
    'a port forward without source',
    section('redirect', { dest_ip: '1.2.3.4' }),
    'has no source specified',
    false,
  ],
  [
    'a source NAT without address',
    section('redirect', { target: 'SNAT', dest: 'wan' }),
    "has no 'src_dip' option specified",
    false,
  ],
  [
    'a mark without value',
    rule({ target: 'MARK' }),
    "must specify option 'set_mark' or 'set_xmark' for target 'mark'",
    false,
  ],
])('warns of %s', (_, text, message, isTaken) => {
  const { warnings, taken } = judge(text);
  expect(warnings).toEqual([`[!] Section s ${message}\n`]);
  expect(taken.some((one) => one.section.name === 's')).toBe(isTaken);
});

test('says for each protocol that families do not go together', () => {
  const { warnings, taken } = judge(rule({ src_ip: '10.0.0.1', dest_ip: 'fe80::1' }));
  const message =
    '[!] Section s is restricted to IPv4 but referenced destination IP is IPv6 only, skipping\n';
  expect(warnings).toEqual([message, message]);
  expect(taken.some((one) => one.section.name === 's')).toBe(false);
});

test('names an anonymous section by its place, and any by its name option', () => {
  const { warnings } = judge("config rule\nconfig rule\n\toption name 'n'\n\toption src 'dmz'\n");
  expect(warnings[0]).toBe("[!] Section @rule[1] (n) option 'src' specifies invalid value 'dmz'\n");
});

test.each<[string, string, string]>([
  [
    'a protocol that it cannot find',
    rule({ proto: 'nosuch' }),
    'Error: Could not resolve protocol name',
  ],
  [
    'a comment too long',
    rule({ name: 'x'.repeat(123) }),
    'Error: comment too long, 128 characters maximum allowed',
  ],
  [
    'a device name too long',
    section('zone', { name: 'z', device: 'abcdefghijklmnop' }),
    'Error: String exceeds maximum length of 16',
  ],
  [
    'the comments that a zone of 88 characters gets',
    section('zone', { name: 'z'.repeat(88) }),
    'Error: comment too long, 128 characters maximum allowed',
  ],
  [
    'a second zone of a name',
    section('zone', { name: 'lan' }),
    "Error: redefinition of symbol 'lan_devices'",
  ],
])('nft refuses the whole set for %s', (_, text, message) => {
  expect(refusals(judge(text))).toContain(message);
});

test('a zone of 12 characters passes, as on the real one: only firewall3 refuses it', () => {
  for (const length of [12, 32, 87]) {
    const judgement = judge(section('zone', { name: 'z'.repeat(length) }));
    expect(judgement.warnings).toEqual([]);
    expect(refusals(judgement)).toBe('');
  }
});

test('a comment of 128 characters passes', () => {
  expect(refusals(judge(rule({ name: 'x'.repeat(122) })))).toBe('');
});
