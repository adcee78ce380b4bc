import { beforeEach, describe, expect, it } from 'vitest';
import { namedSection, ruleOf } from '#shared/compile/testing.ts';
import type { LastGood, Verdict } from '#shared/compile/types.ts';
import type { UciDelta } from '#shared/uci/model.ts';
import { OpenwrtBlockedError, type ApplyResult, type KernelLook } from '../openwrt/driver.ts';
import { blame, blameFound, refuseWarned, type BlameDeps } from './blame.ts';
import type { Plan } from './plan.ts';
import type { Refused } from './refusals.ts';
import { createSearch } from './halving.ts';
import { NOTHING_KNOWN } from './rule-states.ts';

const REVISION = 'new';
const verdictOf = (name: string, uciPackage: string, section = name): Verdict => ({
  rule: ruleOf('FirewallRule', name, {}, { uid: name }),
  revision: REVISION,
  generationInForce: 1,
  verdict: 'wanted',
  reason: 'Applying',
  message: '',
  sections: [{ package: uciPackage, name: section }],
});

let added: Map<string, Refused & { retry: boolean }>;
let older: LastGood;
let deps: BlameDeps;
beforeEach(() => {
  added = new Map();
  older = new Map();
  deps = {
    refusals: {
      current: () => added,
      add: (uid, refused, { retry }) => added.set(uid, { ...refused, retry }),
      review: () => undefined,
      releaseDue: () => false,
    },
    lastGood: {
      current: () => older,
      replace: async (next) => {
        older = next;
      },
    },
  };
});

const deltaWith = (uciPackage: string, names: readonly string[]): UciDelta => ({
  package: uciPackage,
  remove: [],
  set: [],
  append: names.map((name) => namedSection('rule', name)),
});
const lookOf = (verdicts: readonly Verdict[], deltas: readonly UciDelta[] = []) => {
  const sections = verdicts.flatMap((verdict) => verdict.sections);
  const packages = new Set(sections.map((section) => section.package));
  const plan: Plan = {
    verdicts,
    deltas,
    differing: packages,
    desired: new Map(
      [...packages].map((name) => [
        name,
        sections
          .filter((section) => section.package === name)
          .map((section) => namedSection('rule', section.name)),
      ]),
    ),
  };
  return { search: createSearch(), plan };
};
const rejected = (
  sections: string[],
  message = 'no',
): Extract<ApplyResult, { outcome: 'rejected' }> => ({
  outcome: 'rejected',
  package: 'firewall',
  message,
  sections,
});
const refusedUids = (): string[] => [...added.keys()];

describe('of what the kernel shows that OpenWRT refuses', () => {
  const kernel = (...sections: readonly string[]): KernelLook => ({
    lacking: new Map(),
    incomparable: new Map(),
    refused: new Map([['mwan3', new Map(sections.map((name) => [name, 'too many ports']))]]),
  });

  it('rules are refused until they change, each for its own section', async () => {
    const look = lookOf(['a', 'b'].map((name) => verdictOf(name, 'mwan3')));
    expect(await blameFound(deps, look, kernel('b'))).toBe(true);
    expect(refusedUids()).toEqual(['b']);
    expect(added.get('b')).toMatchObject({
      message: 'OpenWRT refuses package mwan3 with this rule: too many ports',
      retry: false,
    });
  });

  it('blames no rule for a section of others, or of another package', async () => {
    const look = lookOf([verdictOf('a', 'mwan3'), verdictOf('theirs', 'firewall', 'theirs')]);
    expect(await blameFound(deps, look, kernel('theirs'))).toBe(false);
    expect(await blameFound(deps, look, undefined)).toBe(false);
    expect(refusedUids()).toEqual([]);
  });

  it('blames no rule for what it was, when the plan is to change it', async () => {
    const after = namedSection('rule', 'a');
    const delta = { ...deltaWith('mwan3', []), set: [{ before: after, after }] };
    const look = lookOf([verdictOf('a', 'mwan3')], [delta]);
    expect(await blameFound(deps, look, kernel('a'))).toBe(false);
    expect(refusedUids()).toEqual([]);
  });

  it('blames a rule again for its last good spec, and no third time', async () => {
    const look = lookOf([verdictOf('a', 'mwan3')]);
    older = new Map([['a', { spec: {}, generation: 1, revision: REVISION }]]);
    const times = [];
    for (let time = 1; time <= 3; time += 1) times.push(await blameFound(deps, look, kernel('a')));
    expect(times).toEqual([true, true, false]);
    expect(older.size).toBe(0);
  });
});

describe('of a set that OpenWRT refuses', () => {
  it('refuses the rules whose sections it names, with its words, until the next try', async () => {
    const rules = ['a', 'b', 'c'].map((name) => verdictOf(name, 'firewall'));
    await blame(deps, lookOf(rules), rejected(['a', 'c'], 'no such protocol'));
    expect(refusedUids()).toEqual(['a', 'c']);
    expect(added.get('a')).toEqual({
      revision: REVISION,
      message: 'OpenWRT refuses package firewall with this rule: no such protocol',
      retry: true,
    });
  });

  it('does not try a rule again that would do harm before it changes', async () => {
    const rejection = { ...rejected(['a']), lasting: true } as const;
    await blame(deps, lookOf([verdictOf('a', 'firewall')]), rejection);
    expect(added.get('a')?.retry).toBe(false);
  });

  it('blames no rule for a section of the same name in another package', async () => {
    const rules = [verdictOf('here', 'firewall', 'same'), verdictOf('elsewhere', 'mwan3', 'same')];
    await blame(deps, lookOf(rules), rejected(['same']));
    expect(refusedUids()).toEqual(['here']);
  });

  it('rules of other packages are no suspects when it names none', async () => {
    const rules = [verdictOf('here', 'firewall', 'same'), verdictOf('elsewhere', 'mwan3', 'same')];
    const deltas = [deltaWith('mwan3', ['same']), deltaWith('firewall', ['same'])];
    await blame(deps, lookOf(rules, deltas), rejected([]));
    expect(refusedUids()).toEqual(['here']);
  });

  it('only rules that have changed are suspects', async () => {
    const rules = ['a', 'b', 'c'].map((name) => verdictOf(name, 'firewall'));
    await blame(deps, lookOf(rules, [deltaWith('firewall', ['b'])]), rejected([]));
    expect(refusedUids()).toEqual(['b']);
  });

  it('suspects a rule that was changed in place', async () => {
    const rules = ['a', 'b'].map((name) => verdictOf(name, 'firewall'));
    const [before, after] = [namedSection('rule', 'a', { x: '1' }), namedSection('rule', 'a')];
    const delta: UciDelta = { ...deltaWith('firewall', []), set: [{ before, after }] };
    await blame(deps, lookOf(rules, [delta]), rejected([]));
    expect(refusedUids()).toEqual(['a']);
  });

  it('blames no rule when none has a section there', async () => {
    const look = lookOf([verdictOf('elsewhere', 'mwan3')]);
    await expect(blame(deps, look, rejected([]))).rejects.toBeInstanceOf(OpenwrtBlockedError);
    expect(refusedUids()).toEqual([]);
  });

  it('drops the last good spec that replaced a refused one, and no other', async () => {
    const spec = { spec: {}, generation: 1, revision: 'old' };
    older = new Map([
      ['a', spec],
      ['b', spec],
    ]);
    const look = lookOf([verdictOf('a', 'firewall'), verdictOf('b', 'firewall')]);
    await blame(deps, look, rejected(['a']));
    expect([...older.keys()]).toEqual(['a', 'b']);
    await blame(deps, look, rejected(['a']));
    expect([...older.keys()]).toEqual(['b']);
  });
});

describe('of a rule that OpenWRT left out', () => {
  const warned = { ...NOTHING_KNOWN, warnings: new Map([['firewall.a', 'skipped']]) };

  it('has its last good spec back in force, and no new try takes it out again', () => {
    older = new Map([['a', { spec: {}, generation: 1, revision: 'old' }]]);
    refuseWarned(deps, { ...warned, verdicts: [verdictOf('a', 'firewall')] });
    expect(added.get('a')).toEqual({ revision: REVISION, message: 'skipped', retry: false });
  });

  it.each<[string, LastGood]>([
    ['there was none', new Map()],
    ['it is this one', new Map([['a', { spec: {}, generation: 1, revision: REVISION }]])],
  ])('refuses nothing when %s', (_what, before) => {
    older = before;
    refuseWarned(deps, { ...warned, verdicts: [verdictOf('a', 'firewall')] });
    expect(refusedUids()).toEqual([]);
  });

  it('does not refuse a rule that is being deleted', () => {
    older = new Map([['a', { spec: {}, generation: 1, revision: 'old' }]]);
    const leaving = { ...verdictOf('a', 'firewall'), verdict: 'unwanted' } as const;
    refuseWarned(deps, { ...warned, verdicts: [leaving] });
    expect(refusedUids()).toEqual([]);
  });
});
