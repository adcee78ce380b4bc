import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '#shared/runtime/log.ts';
import {
  afterLoss,
  begun,
  openLedger,
  settled,
  type Intent,
  type Ledger,
  type Settlement,
} from './ledger.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ledger-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** The one that a restarted agent has. */
const open = (): Promise<Ledger> => openLedger(join(folder, 'ledger.json'), silentLogger);
const POLICY = new Map([['mwan3.balance', 'Mwan3Policy']]);
const warningOf = (ledger: Ledger, name: string): string | undefined =>
  ledger.record().warnings.get(name)?.get('a');
const NO_COMMENTS = { atStake: [], lost: [] };
const begin = async (ledger: Ledger, intent: Partial<Intent>): Promise<void> => {
  const { comments } = ledger.record();
  const nothing = { names: new Map(), packages: [], ending: [], comments };
  await ledger.write(begun(ledger.record(), { ...nothing, ...intent }));
};
const settle = (ledger: Ledger, change: Partial<Settlement> = {}): Promise<void> =>
  ledger.write(settled(ledger.record(), settlement(change)));
const settlement = (change: Partial<Settlement>): Settlement => ({
  owned: POLICY,
  takenOver: new Map(),
  packages: ['mwan3'],
  warnings: new Map(),
  comments: NO_COMMENTS,
  ...change,
});

describe('the ledger, after a restart', () => {
  it('has what may have been written since the last read-back', async () => {
    const ledger = await open();
    await begin(ledger, { names: POLICY, packages: ['mwan3', 'firewall'] });
    for (const each of [ledger, await open()]) {
      expect([...each.record().owned]).toEqual([...POLICY]);
      expect([...each.record().unsettled]).toEqual(['mwan3', 'firewall']);
    }
  });

  it('keeps what it had when more is begun', async () => {
    const ledger = await open();
    await begin(ledger, { names: POLICY, packages: ['mwan3'] });
    await begin(ledger, { names: new Map([['ipsec.site', 'IpsecSite']]), packages: ['ipsec'] });
    const restarted = await open();
    expect([...restarted.record().owned.keys()]).toEqual(['mwan3.balance', 'ipsec.site']);
    expect([...restarted.record().unsettled]).toEqual(['mwan3', 'ipsec']);
  });

  it('has what was read back, and packages that were not read back as unsettled', async () => {
    const ledger = await open();
    const names = new Map([...POLICY, ['mwan3.gone', 'Mwan3Rule']]);
    await begin(ledger, { names, packages: ['mwan3', 'firewall'] });
    await settle(ledger);
    for (const each of [ledger, await open()]) {
      expect([...each.record().owned]).toEqual([...POLICY]);
      expect([...each.record().unsettled]).toEqual(['firewall']);
    }
  });

  it('has what OpenWRT said at the last reload of each package', async () => {
    const ledger = await open();
    const told = (name: string, words: string) => new Map([[name, new Map([['a', words]])]]);
    await settle(ledger, { warnings: told('firewall', 'skipped') });
    await settle(ledger, { warnings: told('mwan3', 'unknown option') });
    const restarted = await open();
    expect(warningOf(restarted, 'firewall')).toBe('skipped');
    expect(warningOf(restarted, 'mwan3')).toBe('unknown option');
    await settle(restarted, { warnings: new Map([['firewall', new Map()]]) });
    expect(warningOf(await open(), 'firewall')).toBeUndefined();
  });

  it('has what was taken over, and how far that has come', async () => {
    const ledger = await open();
    const takenOver = new Map([
      ['firewall.a', { uid: 'a', stage: 'begun' }],
      ['mwan3.balance', { uid: 'b', stage: 'ours' }],
      ['firewall.c', { uid: 'c', stage: 'removed' }],
    ] as const);
    await ledger.write({ ...ledger.record(), takenOver });
    expect((await open()).record().takenOver).toEqual(takenOver);
  });

  it('has which comments are at stake, and which were lost', async () => {
    const ledger = await open();
    await begin(ledger, {
      packages: ['firewall'],
      comments: { atStake: ['firewall'], lost: ['mwan3'] },
    });
    const restarted = await open();
    expect(restarted.record().comments).toEqual({ atStake: ['firewall'], lost: ['mwan3'] });
    const comments = { atStake: [], lost: ['mwan3', 'firewall'] };
    await settle(restarted, { comments });
    expect((await open()).record().comments).toEqual(comments);
    await begin(restarted, { names: POLICY, packages: ['mwan3'] });
    expect((await open()).record().comments).toEqual(comments);
  });
});

describe('a ledger that was lost', () => {
  const losses: Record<string, () => Promise<Ledger>> = {
    'because its file is broken': () => {
      writeFileSync(join(folder, 'ledger.json'), '{"version":2,"own');
      return open();
    },
    'because a newer agent wrote it': () => {
      writeFileSync(join(folder, 'ledger.json'), '{"version":3}');
      return open();
    },
    'because its file is gone': () =>
      openLedger(join(folder, 'ledger.json'), silentLogger, { hasPast: true }),
  };
  it.each(Object.entries(losses))(
    '%s, says so from then on, and has every package unsettled once',
    async (_why, start) => {
      const ledger = await start();
      expect(ledger.record().lost).toBe('found');
      const met = afterLoss(ledger.record(), ['mwan3', 'firewall']);
      expect([met.lost, ...met.unsettled]).toEqual(['met', 'mwan3', 'firewall']);
      await ledger.write(met);
      await settle(ledger, { packages: ['mwan3', 'firewall'] });
      const restarted = (await open()).record();
      expect(restarted.lost).toBe('met');
      expect([...afterLoss(restarted, ['mwan3']).unsettled]).toEqual([]);
    },
  );

  it('is none in a pod in which no rule was in force yet', async () => {
    const { record } = await open();
    expect(record().lost).toBe('no');
    expect(afterLoss(record(), ['mwan3'])).toBe(record());
  });
});

it('keeps for the next agent of the pod which lost comments a coordinator knows of, also where passes write meanwhile', async () => {
  const ledger = await open();
  const comments = { atStake: [], lost: ['firewall', 'mwan3'] };
  await ledger.write({ ...ledger.record(), comments });
  expect(ledger.untold()).toEqual(['firewall', 'mwan3']);
  const unsettled = new Set(['mwan3']);
  await Promise.all([
    ledger.told(['firewall']),
    ledger.write({ ...ledger.record(), unsettled }),
    ledger.told(['firewall']),
  ]);
  const next = await open();
  expect([next.untold(), next.record()]).toEqual([
    ['mwan3'],
    { ...ledger.record(), comments, unsettled },
  ]);
  await next.told(['mwan3']);
  expect((await open()).untold()).toEqual([]);
});
