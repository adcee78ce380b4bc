import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '#shared/runtime/log.ts';
import { openLedger, type Ledger, type Settlement } from './ledger.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ledger-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** The one that a restarted agent has. */
const open = (): Promise<Ledger> => openLedger(join(folder, 'ledger.json'), silentLogger);
const POLICY = new Map([['mwan3.balance', 'Mwan3Policy']]);
const NO_COMMENTS = { atStake: [], lost: [] };
const settlement = (change: Partial<Settlement> = {}): Settlement => ({
  owned: POLICY,
  adopted: new Set(),
  released: new Set(),
  packages: ['mwan3'],
  warnings: new Map(),
  comments: NO_COMMENTS,
  ...change,
});

describe('the ledger, after a restart', () => {
  it('has what may have been written since the last time that anything was read back', async () => {
    const ledger = await open();
    await ledger.begin(POLICY, ['mwan3', 'firewall']);
    for (const each of [ledger, await open()]) {
      expect([...each.owned()]).toEqual([...POLICY]);
      expect([...each.unsettled()]).toEqual(['mwan3', 'firewall']);
    }
  });

  it('keeps what it had when more is begun', async () => {
    const ledger = await open();
    await ledger.begin(POLICY, ['mwan3']);
    await ledger.begin(new Map([['ipsec.site', 'IpsecSite']]), ['ipsec']);
    const restarted = await open();
    expect([...restarted.owned().keys()]).toEqual(['mwan3.balance', 'ipsec.site']);
    expect([...restarted.unsettled()]).toEqual(['mwan3', 'ipsec']);
  });

  it('has what was read back, and doubts the packages that were not', async () => {
    const ledger = await open();
    await ledger.begin(new Map([...POLICY, ['mwan3.gone', 'Mwan3Rule']]), ['mwan3', 'firewall']);
    await ledger.settle(settlement());
    for (const each of [ledger, await open()]) {
      expect([...each.owned()]).toEqual([...POLICY]);
      expect([...each.unsettled()]).toEqual(['firewall']);
    }
  });

  it('has what OpenWRT said at the last reload of each package', async () => {
    const ledger = await open();
    const told = (name: string, words: string) => new Map([[name, new Map([['a', words]])]]);
    await ledger.settle(settlement({ warnings: told('firewall', 'skipped') }));
    await ledger.settle(settlement({ warnings: told('mwan3', 'unknown option') }));
    const restarted = await open();
    expect(restarted.warningOf('firewall', 'a')).toBe('skipped');
    expect(restarted.warningOf('mwan3', 'a')).toBe('unknown option');
    await restarted.settle(settlement({ warnings: new Map([['firewall', new Map()]]) }));
    expect((await open()).warningOf('firewall', 'a')).toBeUndefined();
  });

  it('has what was adopted as ours, and for whom it is not to be adopted again', async () => {
    const ledger = await open();
    const comments = NO_COMMENTS;
    await ledger.adopt({ adopted: POLICY, released: new Set(['uid-1']), comments });
    const restarted = await open();
    expect([...restarted.owned()]).toEqual([...POLICY]);
    expect([...restarted.adopted()]).toEqual(['mwan3.balance']);
    expect([...restarted.released()]).toEqual(['uid-1']);
    await restarted.adopt({ adopted: new Map(), released: new Set(), comments });
    const again = await open();
    expect([...again.adopted(), ...again.released()]).toEqual([]);
    expect([...again.owned()]).toEqual([...POLICY]);
  });

  it('has which comments are at stake, and which were lost', async () => {
    const ledger = await open();
    await ledger.begin(new Map(), ['firewall'], { atStake: ['firewall'], lost: ['mwan3'] });
    const restarted = await open();
    expect(restarted.comments()).toEqual({ atStake: ['firewall'], lost: ['mwan3'] });
    const comments = { atStake: [], lost: ['mwan3', 'firewall'] };
    await restarted.adopt({ adopted: new Map(), released: new Set(), comments });
    expect((await open()).comments()).toEqual(comments);
    await restarted.begin(POLICY, ['mwan3']);
    expect((await open()).comments()).toEqual(comments);
  });
});
