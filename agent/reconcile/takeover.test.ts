import { describe, expect, it } from 'vitest';
import { namedSection, ruleOf } from '#shared/compile/testing.ts';
import type { Takeover } from '#shared/compile/adoption.ts';
import type { Verdict } from '#shared/compile/types.ts';
import { ICN_FINALIZERS } from '#shared/names.ts';
import type { UciPackage, UciSection } from '#shared/uci/model.ts';
import type { LedgerRecord, TakenOver } from './ledger.ts';
import { afterChanges, inPlace, lookFor, recorded, renamesOf } from './takeover.ts';
import { NOTHING_RECORDED } from './testing.ts';

const [finalizer = ''] = ICN_FINALIZERS;
const ruleA = ruleOf('FirewallRule', 'a', { target: 'DROP' }, { finalizers: [finalizer] });
const { uid } = ruleA.metadata;
const KIND = 'FirewallRule';

const anonymous: UciSection = {
  name: 'cfg1',
  anonymous: true,
  type: 'rule',
  options: { name: 'a', target: 'DROP' },
};
const firewall = (...sections: UciSection[]): Map<string, UciPackage> =>
  new Map([['firewall', { name: 'firewall', sections }]]);

const recordOf = (
  takenOver: Readonly<Record<string, TakenOver>> = {},
  owned: Readonly<Record<string, string>> = {},
): LedgerRecord => ({
  ...NOTHING_RECORDED,
  takenOver: new Map(Object.entries(takenOver)),
  owned: new Map(Object.entries(owned)),
});
const look = (
  observed: ReadonlyMap<string, UciPackage>,
  record: LedgerRecord = recordOf(),
  { rules = [ruleA], namesLast = true } = {},
) => lookFor({ observed, rules, namesLast }, record);

/** What the section of the rule is to be called. */
const [NAME = ''] = look(firewall(anonymous)).takeovers.map(({ name }) => name);
const KEY = `firewall.${NAME}`;
const ours = namedSection('rule', NAME, { name: 'a', target: 'DROP' });
const stages = ({ takenOver }: Pick<LedgerRecord, 'takenOver'>) =>
  Object.fromEntries([...takenOver].map(([key, { stage }]) => [key, stage]));

describe("what ICN's controller made", () => {
  it('is found by the CR that it made it for, and nothing is recorded yet', () => {
    const { takeovers, takenOver, rewritten } = look(firewall(anonymous));
    expect(takeovers).toEqual([
      { package: 'firewall', kind: KIND, uid, found: anonymous, name: NAME },
    ]);
    expect([takenOver.size, rewritten.size]).toEqual([0, 0]);
  });

  it('is not found again once it was removed for its rule, which is still being deleted', () => {
    const record = recordOf({ [KEY]: { uid, stage: 'removed' } });
    const found = look(firewall(anonymous), record);
    expect(found.takeovers).toEqual([]);
    expect(stages(found)).toEqual({ [KEY]: 'removed' });
  });

  it('is forgotten with its rule, when it was removed', () => {
    const record = recordOf({ [KEY]: { uid, stage: 'removed' } });
    expect(stages(look(firewall(), record, { rules: [] }))).toEqual({});
  });

  it('is ours when the agent died between the naming and the record of it', () => {
    const record = recordOf({ [KEY]: { uid, stage: 'begun' } }, { [KEY]: KIND });
    const found = look(firewall(ours), record);
    expect(stages(found)).toEqual({ [KEY]: 'ours' });
    expect(found.takeovers).toEqual([]);
  });

  it('is like any other of ours when it has its name, and its rule is not known', () => {
    const record = recordOf({ [KEY]: { uid: '', stage: 'begun' } }, { [KEY]: KIND });
    expect(stages(look(firewall(ours), record))).toEqual({});
  });

  it('is begun again when it was to be named, and was not', () => {
    const record = recordOf({ [KEY]: { uid, stage: 'begun' } }, { [KEY]: KIND });
    const found = look(firewall(anonymous), record);
    expect([stages(found), found.takeovers.length]).toEqual([{ [KEY]: 'begun' }, 1]);
  });

  it('is forgotten when it was to be named, and is gone', () => {
    const record = recordOf({ [KEY]: { uid, stage: 'begun' } });
    expect(stages(look(firewall(), record))).toEqual({});
  });

  it('is remembered while its package cannot be read', () => {
    const record = recordOf({ [KEY]: { uid, stage: 'ours' } }, { [KEY]: KIND });
    expect(stages(look(new Map(), record))).toEqual({ [KEY]: 'ours' });
  });

  it('shows that another controller writes when it is anonymous again', () => {
    const record = recordOf({ [KEY]: { uid, stage: 'ours' } }, { [KEY]: KIND });
    const found = look(firewall(anonymous), record);
    expect([...found.rewritten]).toEqual([uid]);
    expect(stages(found)).toEqual({ [KEY]: 'ours' });
  });

  it('shows no other controller where names never last, and is named again', () => {
    const record = recordOf({ [KEY]: { uid, stage: 'ours' } }, { [KEY]: KIND });
    const found = look(firewall(anonymous), record, { namesLast: false });
    expect([found.rewritten.size, found.takeovers.length]).toEqual([0, 1]);
  });

  it('shows no other controller, and is forgotten, when it is gone together with its rule', () => {
    const record = recordOf({ [KEY]: { uid, stage: 'ours' } }, { [KEY]: KIND });
    const found = look(firewall(), record);
    expect([found.rewritten.size, stages(found)]).toEqual([0, {}]);
  });
});

describe('a takeover', () => {
  const takeover = (found: UciSection, of: string | undefined): Takeover => ({
    package: 'firewall',
    kind: KIND,
    uid: of,
    found,
    name: NAME,
  });

  it('is recorded with its rule where that is known, beside what was recorded before', () => {
    const before = recordOf({ 'mwan3.x': { uid: 'x', stage: 'ours' } }, { 'mwan3.x': 'Mwan3Rule' });
    const { takenOver, owned } = recorded(before, [takeover(anonymous, uid)], 'begun');
    expect([...takenOver]).toEqual([
      ['mwan3.x', { uid: 'x', stage: 'ours' }],
      [KEY, { uid, stage: 'begun' }],
    ]);
    expect([...owned]).toEqual([
      ['mwan3.x', 'Mwan3Rule'],
      [KEY, KIND],
    ]);
    const orphan = recorded(before, [takeover(anonymous, undefined)], 'ours');
    expect(orphan.takenOver.get(KEY)).toEqual({ uid: '', stage: 'ours' });
  });

  it('needs a new name only where the section has another one', () => {
    expect(renamesOf([takeover(anonymous, uid), takeover(ours, uid)])).toEqual([
      { package: 'firewall', section: anonymous, name: NAME },
    ]);
  });

  it('keeps its place only once it was read back', () => {
    const { takenOver } = recordOf({
      'firewall.a': { uid: 'a', stage: 'begun' },
      'firewall.b': { uid: 'b', stage: 'ours' },
      'firewall.c': { uid: 'c', stage: 'removed' },
    });
    expect([...inPlace(takenOver)]).toEqual([['firewall.b', 'b']]);
  });
});

describe('a change', () => {
  const { takenOver } = recordOf({
    'firewall.goes': { uid: 'a', stage: 'ours' },
    'firewall.moves': { uid: 'b', stage: 'ours' },
    'firewall.rewritten': { uid: 'b', stage: 'ours' },
    'firewall.stays': { uid: 'c', stage: 'ours' },
    'mwan3.goes': { uid: 'c', stage: 'ours' },
  });

  const verdictOf = (name: string, verdict: Verdict['verdict']): Verdict => ({
    rule: ruleOf(KIND, name, {}, { uid: name }),
    revision: 'r1',
    verdict,
    generationInForce: 1,
    reason: 'Applied',
    message: '',
    sections: [],
  });

  it('ends fixed places of sections when it removes or appends some, and remembers what was removed with its rule', () => {
    const after = afterChanges(takenOver, {
      deltas: [
        {
          package: 'firewall',
          remove: ['goes', 'moves'],
          set: [],
          append: [namedSection('rule', 'moves'), namedSection('rule', 'rewritten')],
        },
      ],
      verdicts: [verdictOf('a', 'unwanted'), verdictOf('b', 'wanted')],
    });
    expect(stages({ takenOver: after })).toEqual({
      'firewall.goes': 'removed',
      'firewall.stays': 'ours',
      'mwan3.goes': 'ours',
    });
  });
});
