import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decide, passes } from './decide.ts';
import type { Rule } from './enforcement.ts';
import {
  changedSets,
  membersFile,
  policyTable,
  removalFile,
  wholeFile,
  type PolicyTable,
  type TableEntry,
} from './nft-table.ts';

const entry = (id: string, ingress: readonly Rule[]): TableEntry => ({
  id,
  title: `ns/${id}`,
  enforcement: { pods: 'pods', ingress },
});

const WEB = entry('web', [
  {
    peers: [
      { group: 'clients' },
      { cidr: '10.0.0.0/16', except: ['10.0.1.0/24', '10.0.1.128/25', '192.168.0.0/24'] },
    ],
    ports: [{ protocol: 'TCP', port: 80, endPort: 90 }],
  },
  { ports: [{ protocol: 'UDP', group: 'dns' }] },
]);
const NONE = entry('none', []);
const MEMBERS: Record<string, readonly string[]> = {
  pods: ['10.0.0.2', '10.0.0.1', 'fd00::1'],
  clients: ['10.0.0.9'],
  dns: ['10.0.0.1 . 53', 'fd00::1 . 53'],
};
const table = (entries = [WEB, NONE], members = MEMBERS): PolicyTable =>
  policyTable(entries, (id) => members[id] ?? []);

test('writes a table as nft reads it', () => {
  expect(wholeFile(table())).toMatchInlineSnapshot(`
    "table inet sdewan_policy {}
    delete table inet sdewan_policy
    table inet sdewan_policy {
      set g_clients_4 {
        type ipv4_addr
        elements = { 10.0.0.9 }
      }
      set g_clients_6 {
        type ipv6_addr
      }
      set g_dns_4 {
        type ipv4_addr . inet_service
        elements = { 10.0.0.1 . 53 }
      }
      set g_dns_6 {
        type ipv6_addr . inet_service
        elements = { fd00::1 . 53 }
      }
      set g_pods_4 {
        type ipv4_addr
        elements = { 10.0.0.1, 10.0.0.2 }
      }
      set g_pods_6 {
        type ipv6_addr
        elements = { fd00::1 }
      }
      set isolated_eg_4 {
        type ipv4_addr
      }
      set isolated_eg_6 {
        type ipv6_addr
      }
      set isolated_in_4 {
        type ipv4_addr
        elements = { 10.0.0.1, 10.0.0.2 }
      }
      set isolated_in_6 {
        type ipv6_addr
        elements = { fd00::1 }
      }
      chain eg_isolated {
        counter drop
      }
      chain egress {
        type filter hook forward priority -20; policy accept;
        ct state established,related accept
        icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, nd-router-advert, nd-router-solicit } accept
        ip saddr @isolated_eg_4 jump eg_isolated
        ip6 saddr @isolated_eg_6 jump eg_isolated
      }
      counter in_none {
      }
      chain in_none {
        comment "ns/none"
      }
      counter in_web {
      }
      chain in_web {
        comment "ns/web"
        tcp dport 80-90 ip saddr @g_clients_4 accept
        tcp dport 80-90 ip6 saddr @g_clients_6 accept
        tcp dport 80-90 ip saddr 10.0.0.0/16 ip saddr != { 10.0.1.0/24 } accept
        meta l4proto udp ip daddr . th dport @g_dns_4 accept
        meta l4proto udp ip6 daddr . th dport @g_dns_6 accept
      }
      chain in_isolated {
        ip daddr @g_pods_4 jump in_none
        ip6 daddr @g_pods_6 jump in_none
        ip daddr @g_pods_4 jump in_web
        ip6 daddr @g_pods_6 jump in_web
        ip daddr @g_pods_4 counter name in_none
        ip6 daddr @g_pods_6 counter name in_none
        ip daddr @g_pods_4 counter name in_web
        ip6 daddr @g_pods_6 counter name in_web
        counter drop
      }
      chain ingress {
        type filter hook forward priority -10; policy accept;
        ct state established,related accept
        icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, nd-router-advert, nd-router-solicit } accept
        ip daddr @isolated_in_4 jump in_isolated
        ip6 daddr @isolated_in_6 jump in_isolated
      }
    }
    table inet sdewan_policy_rev {}
    delete table inet sdewan_policy_rev
    table inet sdewan_policy_rev { comment "878978d094e01d32c01fdde11de0e305"; }
    "
  `);
});

test('writes the same for any order of what comes in', () => {
  const shuffled = fc.shuffledSubarray(MEMBERS['pods']?.slice() ?? [], { minLength: 3 });
  fc.assert(
    fc.property(shuffled, (pods) => {
      expect(wholeFile(table([NONE, WEB], { ...MEMBERS, pods }))).toBe(wholeFile(table()));
    }),
  );
});

describe('membersFile', () => {
  const before = table();

  test('changes the sets that another member is in, and no rule', () => {
    const after = table([WEB, NONE], { ...MEMBERS, clients: ['10.0.0.8', '10.0.0.9'] });
    const file = membersFile(after, before) ?? '';
    expect(changedSets(after, before)).toStrictEqual(['g_clients_4']);
    expect(file.split('\n').slice(0, 2)).toStrictEqual([
      'flush set inet sdewan_policy g_clients_4',
      'add element inet sdewan_policy g_clients_4 { 10.0.0.8, 10.0.0.9 }',
    ]);
    expect(file).toContain(after.hash);
    expect(after.hash).not.toBe(before.hash);
  });

  test('empties a set without members', () => {
    const after = table([WEB, NONE], { ...MEMBERS, clients: [] });
    expect(membersFile(after, before)).toMatch(/^flush set inet sdewan_policy g_clients_4\ntable /);
  });

  test('selected pods are in the set of isolated ones as well', () => {
    const after = table([WEB, NONE], { ...MEMBERS, pods: ['10.0.0.1', 'fd00::1'] });
    expect(changedSets(after, before)).toStrictEqual(['g_pods_4', 'isolated_in_4']);
  });

  test('other rules are another table', () => {
    expect(membersFile(table([WEB]), before)).toBeUndefined();
  });

  test('other groups are another table', () => {
    const other = entry('none', [{ peers: [{ group: 'more' }] }]);
    expect(membersFile(table([WEB, other]), before)).toBeUndefined();
  });
});

describe('exceptions of a block', () => {
  const lines = (cidr: string, except: readonly string[]): string[] =>
    policyTable([entry('one', [{ peers: [{ cidr, except }] }])], () => [])
      .chains.split('\n')
      .map((line) => line.trim())
      .filter((line) => line.endsWith(' accept') && !/^(ct|icmpv6) /.test(line));

  test.each([
    ['none', '10.0.0.0/8', [], ['ip saddr 10.0.0.0/8 accept']],
    ['all of it', '10.0.0.0/8', ['10.0.0.0/8'], []],
    ['more than it', '10.0.0.0/8', ['0.0.0.0/0'], []],
    ['beside it', '10.0.0.0/8', ['11.0.0.0/8', 'fd00::/8'], ['ip saddr 10.0.0.0/8 accept']],
    [
      'one in another, and twice',
      'fd00::/8',
      ['fd00:1::/32', 'fd00::/16', 'fd00::/16'],
      ['ip6 saddr fd00::/8 ip6 saddr != { fd00::/16 } accept'],
    ],
    [
      'of everything',
      '0.0.0.0/0',
      ['10.0.0.0/8'],
      ['meta nfproto ipv4 ip saddr != { 10.0.0.0/8 } accept'],
    ],
  ])('%s', (_, cidr, except, wanted) => {
    expect(lines(cidr, except)).toStrictEqual(wanted);
  });
});

test('keeps the name of a policy in its quotes', () => {
  const title = 'ns/a" } table inet fw4 {}\n';
  const { chains } = policyTable([{ ...NONE, title }], () => []);
  expect(chains).toContain('comment "ns/a____table_inet_fw4____"');
});

test('removal names both tables, there or not', () => {
  expect(removalFile()).toBe(
    ['sdewan_policy', 'sdewan_policy_rev']
      .map((name) => `table inet ${name} {}\ndelete table inet ${name}\n`)
      .join(''),
  );
});

test('isolates an address whose pod is not certain, and lets nothing pass by it in any chain', () => {
  const { sets } = table([WEB], { ...MEMBERS, pods: ['10.0.0.1', '?10.0.0.3', '?fd00::3'] });
  expect(sets.get('isolated_in_4')?.members).toEqual(['10.0.0.1', '10.0.0.3']);
  expect(sets.get('isolated_in_6')?.members).toEqual(['fd00::3']);
  expect(sets.get('g_pods_4')?.members).toEqual(['10.0.0.1']);
  expect(sets.get('g_pods_6')?.members).toEqual([]);
});

test('decides the same of such an address in `sdewan trace`', () => {
  const members = (id: string) => new Set(id === 'pods' ? ['?10.0.0.3'] : ['10.0.0.9']);
  const place = { entries: [{ of: 'web', enforcement: WEB.enforcement }], members };
  const packet = { from: '10.0.0.9', to: '10.0.0.3', protocol: 'TCP' as const, port: 80 };
  expect(decide(packet, place).map(passes)).toEqual([true, false]);
});
