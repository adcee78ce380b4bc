import { beforeEach, describe, expect, it, vi } from 'vitest';
import { namedSection } from '#shared/compile/testing.ts';
import { applyDelta } from '#shared/uci/delta.ts';
import type { UciDelta, UciPackage, UciSection } from '#shared/uci/model.ts';
import { OpenwrtBlockedError, OpenwrtError } from '../../driver.ts';
import { SILENT, type ReloadVerdict } from '../../services/fw4-reload.ts';
import { answered, fakeSession } from '../client/testing.ts';
import { createManualClock, type ManualClock } from '#shared/runtime/testing/manual-clock.ts';
import { createNotDone, type NotDone } from './not-done.ts';
import { createReloadTimes } from './reload-times.ts';
import { runTransaction } from './transaction.ts';
import type { PackageState } from '../read/packages.ts';
import type { WritePath } from './write-path.ts';

const { signal } = new AbortController();
const defaults = namedSection('defaults', 'defaults');
const lan = namedSection('zone', 'lan', { name: 'lan' });
const admin = namedSection('rule', 'admin_ssh', { dest_port: '22' });
const rule = (name: string, port = '80'): UciSection =>
  namedSection('rule', `sdewan_rule_${name}`, { dest_port: port });
const base: UciPackage = {
  name: 'firewall',
  sections: [defaults, lan, admin, rule('old'), rule('changes')],
};
const delta: UciDelta = {
  package: 'firewall',
  remove: ['sdewan_rule_old'],
  set: [{ before: rule('changes'), after: rule('changes', '81') }],
  append: [rule('new')],
};
const wanted = applyDelta(base, delta);
const policy = namedSection('policy', 'sdewan_policy');
/** A delta of another package, which has nothing. */
const policyDelta: UciDelta = { package: 'mwan3', remove: [], set: [], append: [policy] };
const nothing: UciDelta = { package: 'firewall', remove: [], set: [], append: [] };
const FINE: ReloadVerdict = SILENT;
const refusing = (...sections: string[]): ReloadVerdict => ({
  ...SILENT,
  refusal: { message: 'no', sections },
});
/** The verdict on a section that is in force without an option. */
const wider = (name: string): ReloadVerdict => ({
  ...SILENT,
  warnings: new Map([[name, "option 'extra' is not supported by fw4"]]),
  wider: new Set([name]),
});

let steps: string[];
let clock: ManualClock;
let notDone: NotDone;
beforeEach(() => {
  steps = [];
  clock = createManualClock();
  notDone = createNotDone(clock);
});

type Fixture = {
  delta?: UciDelta;
  /** What is there after the writing. */
  found?: UciPackage | 'absent';
  /** The file's version before the writing. */
  version?: string;
  /** The file's version after it. */
  left?: string;
  /** A change of package mwan3 is not made. */
  hasSecond?: true;
  /** What the service says, one after the other. */
  verdicts?: readonly (ReloadVerdict | Promise<ReloadVerdict>)[];
};
const run = (fixture: Fixture = {}) => {
  const { found = wanted, version = 'one', verdicts = [FINE] } = fixture;
  const second = { version: 'mwan3', content: { name: 'mwan3', sections: [] } };
  const left = [...verdicts];
  const step = (what: string) => async (): Promise<void> => {
    steps.push(what);
  };
  const path: WritePath = {
    name: 'fast',
    inPassing: [],
    begin: step('begin'),
    versions: async () =>
      new Map([
        ['firewall', version],
        ['mwan3', second.version],
      ]),
    read: async () => {
      steps.push('read');
      const state =
        found === 'absent'
          ? ({ state: 'absent' } as const)
          : ({ state: 'read', version: fixture.left ?? 'two', content: found } as const);
      return new Map<string, PackageState>([
        ['firewall', state],
        ['mwan3', { state: 'read', ...second }],
      ]);
    },
    refuses: () => undefined,
    write: step('write'),
    keep: step('keep'),
    undo: step('undo'),
    reload: async (_session, content) => {
      steps.push(content === base ? 'reload the base' : 'reload');
      return left.shift() ?? FINE;
    },
  };
  const { session } = fakeSession(() => answered());
  const bases = new Map([
    ['firewall', { version: 'one', content: base }],
    ...(fixture.hasSecond ? [['mwan3', second] as const] : []),
  ]);
  const times = createReloadTimes();
  const limits = times.limitsFor([wanted]);
  const deltas = [fixture.delta ?? delta, ...(fixture.hasSecond ? [policyDelta] : [])];
  const after = new Map(
    deltas.map((one) => {
      const content = bases.get(one.package)?.content ?? { name: one.package, sections: [] };
      return [one.package, applyDelta(content, one)];
    }),
  );
  const transaction = { session, deltas, bases, wanted: after, limits, signal };
  return runTransaction(path, transaction, { clock, times, notDone });
};

describe('a transaction', () => {
  it('writes, reads back, reloads, and only then makes the change permanent', async () => {
    expect(await run()).toMatchObject({ outcome: 'done' });
    expect(steps).toEqual(['write', 'read', 'reload', 'keep']);
  });

  it('only reloads when it changes nothing', async () => {
    expect(await run({ delta: nothing, found: base })).toMatchObject({ outcome: 'done' });
    expect(steps).toEqual(['read', 'reload the base']);
  });

  it('is not begun when the package has changed since it was read', async () => {
    await expect(run({ version: 'another' })).rejects.toBeInstanceOf(OpenwrtBlockedError);
    expect(steps).toEqual([]);
  });

  it('is not begun with a value that UCI cannot hold', async () => {
    const append = [rule('good'), rule('bad', 'a\0b')];
    expect(await run({ delta: { ...nothing, append } })).toMatchObject({
      outcome: 'rejected',
      sections: ['sdewan_rule_bad'],
    });
    expect(steps).toEqual([]);
  });
});

describe('the firewall is not reloaded, nor is the change made permanent,', () => {
  const without = (...types: string[]): UciPackage => ({
    ...wanted,
    sections: wanted.sections.filter(({ type }) => !types.includes(type)),
  });
  it.each<[string, UciPackage | 'absent']>([
    ['when its zones are gone', without('zone')],
    ['when its defaults are gone', without('defaults')],
    ['when the package is gone', 'absent'],
  ])('%s', async (_what, found) => {
    await expect(run({ found })).rejects.toBeInstanceOf(OpenwrtError);
    expect(steps).toEqual(['write', 'read']);
  });

  it('happens when nothing is left of it, which is undone at once', async () => {
    const found = { name: 'firewall', sections: [] };
    await expect(run({ found })).rejects.toThrow('no space left in its /etc/config');
    expect(steps).toEqual(['write', 'read', 'undo']);
  });

  it('happens when another writer has emptied it, and nothing was written', async () => {
    const found = { name: 'firewall', sections: [] };
    await expect(run({ delta: nothing, found })).rejects.toBeInstanceOf(OpenwrtError);
    expect(steps).toEqual(['read']);
  });
});

describe('a change is undone, and the service has what was before,', () => {
  const UNDONE = ['undo', 'reload the base'];
  const stored = (change: (section: UciSection) => UciSection[]): UciPackage => ({
    ...wanted,
    sections: wanted.sections.flatMap(change),
  });
  it.each<[string, UciPackage, string[]]>([
    [
      'when a new section is not there',
      stored((one) => (one.name === 'sdewan_rule_new' ? [] : [one])),
      ['sdewan_rule_new'],
    ],
    [
      'when a section was not changed',
      stored((one) => (one.name === 'sdewan_rule_changes' ? [rule('changes')] : [one])),
      ['sdewan_rule_changes'],
    ],
    [
      'when half of a section was stored',
      stored((one) => (one.name === 'sdewan_rule_new' ? [{ ...one, options: {} }] : [one])),
      ['sdewan_rule_new'],
    ],
    [
      'when two are in the wrong order',
      stored((one) => {
        if (one.name === 'sdewan_rule_new') return [];
        return one.name === 'sdewan_rule_changes' ? [rule('new'), one] : [one];
      }),
      ['sdewan_rule_changes', 'sdewan_rule_new'],
    ],
  ])('%s', async (_what, found, sections) => {
    const result = await run({ found });
    expect(result).toMatchObject({ outcome: 'rejected', perhapsOthers: true });
    expect('sections' in result && result.sections.toSorted()).toEqual(sections);
    expect(steps).toEqual(['write', 'read', ...UNDONE]);
  });

  it('is so when a section was left out; those that come after it are not blamed', async () => {
    const asked = { ...delta, append: [rule('one'), rule('two'), rule('three')] };
    const all = applyDelta(base, asked).sections;
    const found = { ...base, sections: all.filter(({ name }) => name !== 'sdewan_rule_one') };
    expect(await run({ delta: asked, found })).toMatchObject({ sections: ['sdewan_rule_one'] });
  });

  it('is so when a section that was to be removed is still there; no rule is blamed', async () => {
    const found = { ...wanted, sections: [...wanted.sections, rule('old')] };
    expect(await run({ found })).toMatchObject({ outcome: 'rejected', sections: [] });
    expect(steps).toEqual(['write', 'read', ...UNDONE]);
  });

  it('is so when the service refuses it; only sections of the change are named', async () => {
    const verdicts = [refusing('sdewan_rule_new', 'admin_ssh'), FINE];
    expect(await run({ verdicts })).toEqual({
      outcome: 'rejected',
      package: 'firewall',
      message: 'no',
      sections: ['sdewan_rule_new'],
    });
    expect(steps).toEqual(['write', 'read', 'reload', ...UNDONE]);
  });

  it('is so when a new section is in force without an option, permanently; an older one is only reported', async () => {
    expect(await run({ verdicts: [wider('sdewan_rule_new'), FINE] })).toMatchObject({
      outcome: 'rejected',
      lasting: true,
      message: expect.stringContaining("option 'extra' is not supported by fw4"),
      sections: ['sdewan_rule_new'],
    });
    expect(steps).toEqual(['write', 'read', 'reload', ...UNDONE]);
    expect(await run({ verdicts: [wider('admin_ssh')] })).toMatchObject({ outcome: 'done' });
  });

  it('is an error when the service refuses that, too', async () => {
    const verdicts = [refusing('sdewan_rule_new'), refusing()];
    await expect(run({ verdicts })).rejects.toThrow('even without this change');
    expect(steps).toEqual(['write', 'read', 'reload', ...UNDONE]);
  });

  it('has nothing to undo where nothing was written', async () => {
    const verdicts = [refusing('admin_ssh')];
    const result = await run({ delta: nothing, found: base, verdicts });
    expect(result).toMatchObject({ outcome: 'rejected', sections: [] });
    expect(steps).toEqual(['read', 'reload the base']);
  });
});

it('blames no rule for a change that libuci has lost to another one, which is kept', async () => {
  const theirs = namedSection('rule', 'admins');
  const found = { ...base, sections: [...base.sections, theirs] };
  await expect(run({ found })).rejects.toThrow(
    new OpenwrtBlockedError(
      'change firewall',
      'another user or program changed it at the same moment',
    ),
  );
  expect(steps).toEqual(['write', 'read', 'keep']);
});

describe('a change of which OpenWRT makes nothing, although it says so,', () => {
  const removal: UciDelta = { ...nothing, remove: ['sdewan_rule_old'] };
  const moved: UciDelta = { ...removal, append: [rule('old')] };
  it.each([
    ['with new sections', delta],
    ['with sections to remove alone', removal],
    ['with a section that moves', moved],
  ])(
    '%s, is no rule’s fault; what is staged goes, and no service is bothered',
    async (_what, asked) => {
      const tried = run({ delta: asked, found: base, left: 'one' });
      await expect(tried).rejects.toThrow(
        new OpenwrtBlockedError(
          'change firewall',
          'OpenWRT says that it has done it, and has done nothing',
        ),
      );
      expect(steps).toEqual(['write', 'read', 'undo']);
    },
  );

  it('is refused when it goes on for twenty seconds; its sections are named, and one to remove is not', async () => {
    const ignored = (asked: UciDelta) => run({ delta: asked, found: base, left: 'one' });
    await expect(ignored(delta)).rejects.toThrow(OpenwrtBlockedError);
    clock.advance(19_999);
    await expect(ignored(delta)).rejects.toThrow(OpenwrtBlockedError);
    clock.advance(1);
    expect(await ignored(delta)).toMatchObject({
      outcome: 'rejected',
      package: 'firewall',
      message: expect.stringContaining('left it out'),
      sections: ['sdewan_rule_changes', 'sdewan_rule_new'],
    });
    expect(steps.slice(-3)).toEqual(['write', 'read', 'undo']);
    await expect(ignored(removal)).rejects.toThrow(OpenwrtBlockedError);
    clock.advance(60_000);
    await expect(ignored(removal)).rejects.toThrow(OpenwrtBlockedError);
  });

  it('is not counted on where another change was made, or asked for, meanwhile', async () => {
    const ignored = () => run({ found: base, left: 'one' });
    await expect(ignored()).rejects.toThrow(OpenwrtBlockedError);
    clock.advance(30_000);
    expect(await run()).toMatchObject({ outcome: 'done' });
    await expect(ignored()).rejects.toThrow(OpenwrtBlockedError);
    clock.advance(30_000);
    await expect(run({ delta: moved, found: base, left: 'one' })).rejects.toThrow(
      OpenwrtBlockedError,
    );
    await expect(ignored()).rejects.toThrow(OpenwrtBlockedError);
  });

  it('is none where nothing was to change', async () => {
    const same = rule('changes');
    const asked = { ...nothing, set: [{ before: same, after: same }] };
    expect(await run({ delta: asked, found: base, left: 'one' })).toMatchObject({
      outcome: 'done',
    });
  });

  it('is one as a whole: where another package was changed, what is not there was refused', async () => {
    expect(await run({ hasSecond: true })).toMatchObject({
      outcome: 'rejected',
      package: 'mwan3',
      sections: ['sdewan_policy'],
    });
  });
});

describe('a reload that takes longer than the timer of the apply is armed for', () => {
  it('has the change made permanent before that, once', async () => {
    const service = Promise.withResolvers<ReloadVerdict>();
    const result = run({ verdicts: [service.promise] });
    await vi.waitFor(() => expect(steps).toContain('reload'));
    clock.advance(24_000);
    expect(steps).not.toContain('keep');
    clock.advance(2_500);
    await vi.waitFor(() => expect(steps).toContain('keep'));
    service.resolve(FINE);
    expect(await result).toMatchObject({ outcome: 'done' });
    expect(steps).toEqual(['write', 'read', 'reload', 'keep']);
  });
});

it('keeps what others change meanwhile', async () => {
  const found = {
    ...wanted,
    sections: [...wanted.sections, namedSection('rule', 'by_hand')].filter(
      ({ name }) => name !== admin.name,
    ),
  };
  expect(await run({ found })).toMatchObject({ outcome: 'done' });
});
