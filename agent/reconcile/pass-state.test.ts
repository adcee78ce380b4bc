import { ASSUMED } from '#shared/resources/capabilities.ts';
import { describe, expect, it } from 'vitest';
import { inputOf, namedSection, ruleOf } from '#shared/compile/testing.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { kinds } from '#shared/resources/registry.ts';
import { applyDelta } from '#shared/uci/delta.ts';
import type { UciPackage } from '#shared/uci/model.ts';
import type { ReadResult } from '../openwrt/driver.ts';
import type { LedgerRecord } from './ledger.ts';
import {
  afterApplied,
  afterRead,
  afterRejected,
  beforeApply,
  planOf,
  type Done,
  type PassInput,
  type PassState,
  type Rejected,
} from './pass-state.ts';
import { NOTHING_RECORDED } from './testing.ts';

const policy = ruleOf('Mwan3Policy', 'p', {
  members: [{ network: 'ovn-net1', metric: 1, weight: 1 }],
});
const drop = ruleOf('FirewallRule', 'a', { target: 'DROP' });
const P = ['mwan3.p', 'Mwan3Policy'] as const;

const inputWith = (rules: readonly RuleObject[]): PassInput => {
  const { networks, devices } = inputOf([]);
  const known = { defaultRoute: undefined, byAddress: new Map(), ...devices };
  const usual = { secrets: new Map(), unservedKinds: [], paused: false, quiet: false };
  return { rules, networks, devices: known, ...usual };
};
const readOf = (change: Partial<ReadResult> = {}): ReadResult => ({
  packages: inputOf([]).observed,
  unusable: new Map(),
  fingerprint: 'as read',
  incarnation: 'one',
  capabilities: ASSUMED,
  ...change,
});
const stateOf = (
  record: Partial<LedgerRecord> = {},
  read: Partial<ReadResult> = {},
  rules: readonly RuleObject[] = [policy, drop],
): PassState =>
  afterRead(kinds, inputWith(rules), readOf(read), { ...NOTHING_RECORDED, ...record });
const planIn = (state: PassState) => planOf(state, { lastGood: new Map(), refused: new Map() });
const written = (state: PassState): ReadonlyMap<string, UciPackage> =>
  new Map(
    planIn(state).deltas.map((delta) => {
      const there = state.packages.get(delta.package) ?? { name: delta.package, sections: [] };
      return [delta.package, applyDelta(there, delta)];
    }),
  );
const doneOf = (state: PassState, change: Partial<Done> = {}): Done => ({
  outcome: 'done',
  observed: written(state),
  fingerprint: 'as written',
  warnings: new Map(),
  ...change,
});
const rejectedOf = (change: Partial<Rejected> = {}): Rejected => ({
  outcome: 'rejected',
  package: 'firewall',
  message: 'no',
  sections: [],
  ...change,
});
const applied = (state: PassState, change: Partial<Done> = {}): PassState =>
  afterApplied(state, planIn(state), doneOf(state, change));
const refused = (state: PassState, change: Partial<Rejected> = {}): PassState =>
  afterRejected(state, planIn(state), rejectedOf(change));
const packagesIn = (state: PassState): string[] =>
  planIn(state).deltas.map((delta) => delta.package);

describe('after reading', () => {
  const cases: Record<
    string,
    { record: Partial<LedgerRecord>; read?: Partial<ReadResult>; expected: Partial<LedgerRecord> }
  > = {
    'the ledger is unchanged': {
      record: { owned: new Map([P]) },
      expected: { owned: new Map([P]) },
    },
    'a read does not settle a package whose write was not seen to end': {
      record: { unsettled: new Set(['mwan3']) },
      expected: { unsettled: new Set(['mwan3']) },
    },
    'comments that could be lost and are gone are lost': {
      record: { comments: { atStake: ['firewall'], lost: [] } },
      expected: { comments: { atStake: [], lost: ['firewall'] } },
    },
    'comments that could be lost and are there are safe': {
      record: { comments: { atStake: ['firewall'], lost: [] } },
      read: { commented: new Set(['firewall']) },
      expected: { comments: { atStake: [], lost: [] } },
    },
  };
  it.each(Object.entries(cases))('%s', (_what, { record, read, expected }) => {
    expect(stateOf(record, read).ledger).toMatchObject(expected);
  });
});

describe('the ledger before a write', () => {
  const state = stateOf({}, { commented: new Set(['mwan3']) });
  const record = beforeApply(state, planIn(state));

  it('lists the names and packages that may be left over', () => {
    expect(record.owned).toEqual(new Map([P, ['mwan3.p_net1', 'Mwan3Policy']]));
    expect(record.unsettled).toEqual(new Set(packagesIn(state)));
  });

  it('lists the comments that it may lose', () => {
    expect(record.comments).toEqual({ atStake: ['mwan3'], lost: [] });
  });
});

describe('after a write', () => {
  it('leaves nothing to do, and all of it is settled', () => {
    const state = applied(stateOf({ unsettled: new Set(['network']) }));
    expect(packagesIn(state)).toEqual([]);
    expect(state.ledger.unsettled).toEqual(new Set());
    expect(state.fingerprint).toBe('as written');
  });

  const cases: Record<
    string,
    { from: PassState; change?: Partial<Done>; expected: Partial<LedgerRecord> }
  > = {
    'a name leaves the ledger whose section is gone': {
      from: stateOf({ owned: new Map([P]) }, {}, []),
      expected: { owned: new Map() },
    },
    'a name stays whose package cannot be read': {
      from: stateOf({ owned: new Map([['ipsec.site', 'IpsecSite']]) }, { packages: new Map() }, []),
      expected: { owned: new Map([['ipsec.site', 'IpsecSite']]) },
    },
    'a package that was not part of it stays unsettled': {
      from: stateOf({ unsettled: new Set(['no such package']) }),
      expected: { unsettled: new Set(['no such package']) },
    },
    'what OpenWRT said is recorded per package': {
      from: stateOf({ warnings: new Map([['network', new Map([['x', 'old']])]]) }),
      change: { warnings: new Map([['firewall', new Map([['y', 'new']])]]) },
      expected: {
        warnings: new Map([
          ['network', new Map([['x', 'old']])],
          ['firewall', new Map([['y', 'new']])],
        ]),
      },
    },
    'comments of what was written are lost': {
      from: stateOf({}, { commented: new Set(['mwan3', 'network']) }),
      expected: { comments: { atStake: [], lost: ['mwan3'] } },
    },
  };
  it.each(Object.entries(cases))('%s', (_what, { from, change, expected }) => {
    expect(applied(from, change).ledger).toMatchObject(expected);
  });

  it('does not try again what OpenWRT does not remove', () => {
    const there = { name: 'mwan3', sections: [namedSection('policy', 'p')] };
    const owned = new Map([P]);
    const before = stateOf({ owned }, { packages: new Map([['mwan3', there]]) }, []);
    expect(packagesIn(before)).toEqual(['mwan3']);
    const stuck = new Map([['mwan3', new Set(['p'])]]);
    const after = applied(before, { stuck, observed: new Map([['mwan3', there]]) });
    expect(packagesIn(after)).toEqual([]);
  });

  it('takes a package that was written for doubtful no more', () => {
    const state = stateOf({}, { doubtful: new Set(['firewall', 'elsewhere']) });
    expect(applied(state).doubtful).toEqual(new Set(['elsewhere']));
  });
});

describe('after a write that OpenWRT refuses', () => {
  it('has everything as before, and only what was unsettled before is unsettled', () => {
    const before = stateOf({ unsettled: new Set(['mwan3']) });
    const after = refused(before);
    expect(after.packages).toEqual(before.packages);
    expect(after.fingerprint).toBe(before.fingerprint);
    expect(after.ledger.unsettled).toEqual(new Set(['mwan3']));
  });

  it('tunnels that were to end before stay in the ledger until they have', () => {
    const before = stateOf({ ending: ['site'] });
    expect(refused(before).ledger.ending).toEqual(['site']);
    expect(applied(before).ledger.ending).toEqual(['site']);
    expect(applied(before, { tunnelsEnded: true }).ledger.ending).toEqual([]);
  });

  it('names that may be left over stay in the ledger', () => {
    expect(refused(stateOf()).ledger.owned.has('mwan3.p')).toBe(true);
  });

  it('comments can still be lost until they are read', () => {
    const state = stateOf({}, { commented: new Set(['mwan3']) });
    expect(refused(state).ledger.comments).toEqual({ atStake: ['mwan3'], lost: [] });
  });

  it('counts the part that was written, unsettled where its service does not have it', () => {
    const before = stateOf();
    const mwan3 = written(before).get('mwan3') ?? { name: 'mwan3', sections: [] };
    const after = refused(before, {
      partly: {
        observed: new Map([['mwan3', mwan3]]),
        fingerprint: 'partly',
        unsettled: new Set(['mwan3']),
      },
    });
    expect(after.packages.get('mwan3')).toEqual(mwan3);
    expect(after.fingerprint).toBe('partly');
    expect(after.ledger.unsettled).toEqual(new Set(['mwan3']));
  });
});
