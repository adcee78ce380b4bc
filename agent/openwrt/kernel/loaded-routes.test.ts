/** The texts are those of a device with mwan3: iproute2's of 2023, and BusyBox'. */
import { describe, expect, it } from 'vitest';
import { namedSection } from '#shared/compile/testing.ts';
import { lackingRouting } from './loaded-routes.ts';
import type { Compared } from './sections.ts';

const BY_IPROUTE2 = `default via 172.16.30.1 dev net1 table 1 metric 10 
10.9.0.0/16 via 172.16.20.1 dev net0 table 40 
default via 172.16.30.1 dev net1 metric 10 
10.8.0.5 dev net1 scope link metric 10 
2001:db8:1::/48 via fe80::1 dev net0 metric 1024 pref medium
inet
0:	from all lookup local
1:	from 10.1.2.3 lookup 40
220:	from all lookup 220
1001:	from all iif net1 lookup 1
1500:	not from 10.1.2.0/24 to 10.3.0.0/16 fwmark 0x10/0xff lookup main
2061:	from all fwmark 0x3d00/0x3f00 blackhole
32000:	from all fwmark 0x7 lookup 40
32766:	from all lookup main
inet6
0:	from all lookup local
2500:	from all to 2001:db8::/32 lookup local
32766:	from all lookup main
`;
const BY_BUSYBOX = BY_IPROUTE2.replaceAll(/ (?=metric)/g, '  ')
  .replaceAll(' pref medium', '')
  .replaceAll(/lookup (\S+)$/gm, 'lookup $1 ')
  .replace('blackhole', 'lookup unspec blackhole');

const network = [
  namedSection('interface', 'net0', { device: 'net0' }),
  namedSection('interface', 'net1', { device: 'net1' }),
];
const route = { interface: 'net0', target: '10.9.0.0/16', gateway: '172.16.20.1', table: '40' };
const rule = {
  src: '10.1.2.0/24',
  dest: '10.3.0.0/16',
  invert: '1',
  mark: '16/255',
  lookup: 'main',
  priority: '1500',
};

describe.each([
  ['iproute2', BY_IPROUTE2],
  ['BusyBox', BY_BUSYBOX],
])('in the words of %s', (_program, text) => {
  const compared = (type: string, options: Record<string, string>): Compared =>
    lackingRouting([...network, namedSection(type, 'one', options)], text);
  const lacks = (type: string, options: Record<string, string>): string | undefined =>
    compared(type, options).lacking.get('one');

  it.each<[string, string, Record<string, string>]>([
    ['a route with a gateway in a table', 'route', route],
    ['a route with bits of hosts', 'route', { ...route, target: '10.9.1.2/16' }],
    ['a route on the link', 'route', { interface: 'net1', target: '10.8.0.5' }],
    [
      'a default route',
      'route',
      { interface: 'net1', target: '0.0.0.0/0', gateway: '172.16.30.1' },
    ],
    [
      'a route of IPv6',
      'route6',
      { interface: 'net0', target: '2001:DB8:1:0::/48', gateway: 'fe80:0::1' },
    ],
    ['a rule with all that it can have', 'rule', rule],
    ['a rule by its mark', 'rule', { mark: '7', lookup: '40', priority: '32000' }],
    ['a rule of IPv6', 'rule6', { dest: '2001:db8::/32', lookup: 'local', priority: '2500' }],
    ['a route with an IPv4 mask', 'route', { ...route, target: '10.9.0.0/255.255.0.0' }],
    ['a route with a mask of two parts', 'route', { ...route, target: '10.9.0.0/255.16711680' }],
    ['a route with a mask in hex', 'route', { ...route, target: '10.9.0.0/0x10' }],
    ['a route with an octal mask', 'route', { ...route, target: '10.9.0.0/020' }],
    ['a route in a table in hex', 'route', { ...route, table: '0x28' }],
    ['a rule with an octal priority', 'rule', { ...rule, priority: '02734' }],
    ['a rule with an octal mark', 'rule', { ...rule, mark: '020/0xff' }],
    ['a rule with a mask', 'rule', { ...rule, src: '10.1.2.0/255.255.255.0' }],
    ['an inverted rule in words', 'rule', { ...rule, invert: 'true' }],
  ])('%s is there', (_what, type, options) => {
    expect(lacks(type, options)).toBeUndefined();
  });

  it.each<[string, string, Record<string, string>, string]>([
    [
      'to another place',
      'route',
      { ...route, target: '10.9.0.0/17' },
      'the route 10.9.0.0/17 via 172.16.20.1 in table 40',
    ],
    [
      'through another gateway',
      'route',
      { ...route, gateway: '172.16.20.9' },
      'the route 10.9.0.0/16 via 172.16.20.9 in table 40',
    ],
    [
      'in another table',
      'route',
      { ...route, table: '41' },
      'the route 10.9.0.0/16 via 172.16.20.1 in table 41',
    ],
    ['by another device', 'route', { interface: 'net0', target: '10.8.0.5' }, 'the route 10.8.0.5'],
    [
      'of another family',
      'rule6',
      { mark: '7', lookup: '40', priority: '32000' },
      'the ip rule with mark 7 to table 40 at priority 32000',
    ],
    [
      'at another priority',
      'rule',
      { ...rule, priority: '1501' },
      'the ip rule from 10.1.2.0/24 to 10.3.0.0/16 with mark 16/255 to table main at priority 1501',
    ],
    [
      'not inverted',
      'rule',
      { ...rule, invert: '0' },
      'the ip rule from 10.1.2.0/24 to 10.3.0.0/16 with mark 16/255 to table main at priority 1500',
    ],
    [
      'that only a blackhole matches',
      'rule',
      { mark: '0x3d00/0x3f00', priority: '2061' },
      'the ip rule with mark 0x3d00/0x3f00 at priority 2061',
    ],
  ])('lacks one %s', (_what, type, options, words) => {
    expect(lacks(type, options)).toBe(words);
  });

  it.each<[string, string, Record<string, string>, string]>([
    ['target', 'route', route, '10.9.0.0/33'],
    ['target', 'route', route, '10.9.0.0/255.255.256.0'],
    ['target', 'route', route, '10.9.0.0/08'],
    ['target', 'route', route, '10.9.0.0/16/16'],
    ['target', 'route', route, '10.009.0.0/16'],
    ['target', 'route6', route, 'fe80::1%eth0'],
    ['gateway', 'route', route, 'nexthop'],
    ['priority', 'rule', rule, '0800'],
    ['priority', 'rule', rule, 'high'],
    ['mark', 'rule', rule, '16/'],
    ['src', 'rule', rule, 'all'],
  ])(
    'option %s of a %s that netifd does not take makes it incomparable: %#',
    (key, type, as, value) => {
      const { lacking, incomparable } = compared(type, { ...as, [key]: value });
      expect([...lacking.keys()]).toEqual([]);
      expect(incomparable.get('one')).toBe(`netifd does not understand option ${key} '${value}'`);
    },
  );
});
