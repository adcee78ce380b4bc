import { describe, expect, it } from 'vitest';
import { namedSection } from '#shared/compile/testing.ts';
import { kinds } from '#shared/resources/registry.ts';
import { isOursIn, type Ownership } from './ownership.ts';

const ownership = (change: Partial<Ownership> = {}): Ownership => ({
  kinds,
  ledger: new Map(),
  unserved: [],
  ...change,
});
const isOurs = (uciPackage: string, name: string, change: Partial<Ownership> = {}): boolean =>
  isOursIn(uciPackage, ownership(change))(namedSection('rule', name));

describe('a section', () => {
  it('may be changed when its name says that it is ours', () => {
    expect(isOurs('firewall', 'sdewan_rule_a')).toBe(true);
    expect(isOurs('firewall', 'admin_ssh')).toBe(false);
  });

  it('may be changed when the ledger says so, for the package that it says', () => {
    const ledger = new Map([['mwan3.balance', 'Mwan3Policy']]);
    expect(isOurs('mwan3', 'balance', { ledger })).toBe(true);
    expect(isOurs('mwan3', 'other', { ledger })).toBe(false);
    expect(isOurs('ipsec', 'balance', { ledger })).toBe(false);
  });

  it('may not be changed when its kind is one that the API server does not serve, by its name', () => {
    const unserved = ['FirewallRule'];
    expect(isOurs('firewall', 'sdewan_rule_a', { unserved })).toBe(false);
    expect(isOurs('firewall', 'sdewan_zone_a', { unserved })).toBe(true);
  });

  it('may not be changed when its kind is one that the API server does not serve, by the ledger', () => {
    const ledger = new Map([
      ['mwan3.balance', 'Mwan3Policy'],
      ['mwan3.web', 'Mwan3Rule'],
    ]);
    const unserved = ['Mwan3Policy'];
    expect(isOurs('mwan3', 'balance', { ledger, unserved })).toBe(false);
    expect(isOurs('mwan3', 'web', { ledger, unserved })).toBe(true);
  });
});
