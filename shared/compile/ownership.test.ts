import { describe, expect, it } from 'vitest';
import { deviceFiles } from '../resources/device-files.ts';
import { kinds } from '../resources/registry.ts';
import { foreignIn, othersOf, ownershipOf } from './ownership.ts';
import { namedSection } from './testing.ts';

describe('a section is ours', () => {
  const ledger = new Set(['mwan3.balance']);
  it.each<[string, string, string, boolean]>([
    ['by its name where rules mark them by it', 'firewall', 'sdewan_rule_a', true],
    ['not by the same words elsewhere in its name', 'firewall', 'my_sdewan_rule', false],
    ['not by its name where names are rules’ own', 'mwan3', 'sdewan_a', false],
    ['by the ledger', 'mwan3', 'balance', true],
    ['not by what the ledger says of another package', 'firewall', 'balance', false],
    ['as any file that is shown', deviceFiles.name, '/etc/ipsec.d/certs/a.pem', true],
  ])('%s', (_name, uciPackage, name, expected) => {
    expect(ownershipOf(uciPackage, ledger)(namedSection('any', name))).toBe(expected);
  });
});

it('finds sections of others by section and by the rule that they act as', () => {
  const wan = namedSection('zone', 'cfg02', { name: 'wan' });
  const balance = namedSection('policy', 'balance');
  const likeOurs = namedSection('rule', 'sdewan_a');
  const own = namedSection('zone', 'sdewan_zone_lan', { name: 'lan' });
  const observed = new Map([
    ['firewall', { name: 'firewall', sections: [wan, own] }],
    ['mwan3', { name: 'mwan3', sections: [balance, likeOurs] }],
  ]);
  const { sections, named } = othersOf(foreignIn(observed, new Set()), kinds);
  expect(sections.get('firewall.cfg02')).toBe(wan);
  expect(sections.get('mwan3.sdewan_a')).toBe(likeOurs);
  expect([...named]).toEqual([
    ['FirewallZone/wan', wan],
    ['Mwan3Policy/balance', balance],
    ['Mwan3Rule/sdewan_a', likeOurs],
  ]);
  expect([...sections.values()]).not.toContain(own);
  // No kind names sections of another package.
  const elsewhere = new Map([['dhcp', { name: 'dhcp', sections: [wan, balance] }]]);
  expect(othersOf(foreignIn(elsewhere, new Set()), kinds).named.size).toBe(0);
  const ours = othersOf(
    foreignIn(observed, new Set(['mwan3.balance', 'mwan3.sdewan_a', 'firewall.cfg02'])),
    kinds,
  );
  expect(ours.sections.size + ours.named.size).toBe(0);
});
