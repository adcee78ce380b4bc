import { beforeEach, describe, expect, it } from 'vitest';
import type { UciSection } from '#shared/uci/model.ts';
import { OpenwrtBlockedError, OpenwrtError } from '../../driver.ts';
import { answered, fakeSession } from '../client/testing.ts';
import { runRename } from './rename.ts';
import type { Base, PackageState } from '../read/packages.ts';
import type { Renaming } from './write-path.ts';

const section = (name: string, options: UciSection['options'], anonymous = true): UciSection => ({
  name,
  anonymous,
  type: 'rule',
  options,
});
const FIRST = section('cfg0192bd', { name: 'a', target: 'DROP' });
const SECOND = section('cfg0292bd', { name: 'b', target: 'ACCEPT' });
const ADMIN = section('admin', { name: 'x' }, false);
const as = (given: string, { options }: UciSection): UciSection => section(given, options, false);
const RENAMES = [
  { package: 'firewall', section: FIRST, name: 'ours_a' },
  { package: 'firewall', section: SECOND, name: 'ours_b' },
];

let done: string[];
beforeEach(() => {
  done = [];
});
const firewall = (...sections: UciSection[]): Base => ({
  version: 'one',
  content: { name: 'firewall', sections },
});

/** `after`: the package as it is read back. */
const run = (before: Base, ...after: UciSection[]) => {
  const state: PackageState = { state: 'read', ...firewall(...after) };
  const renaming: Renaming = {
    session: fakeSession(() => answered()).session,
    renames: RENAMES,
    bases: new Map([['firewall', before]]),
    signal: new AbortController().signal,
  };
  const note = (what: string) => async () => {
    done.push(what);
  };
  const renamer = { write: note('write'), keep: note('keep'), undo: note('undo') };
  return runRename({ read: async () => new Map([['firewall', state]]) }, renamer, renaming);
};

describe('names', () => {
  it('are kept when each section is read back under its name, whatever else has changed', async () => {
    const after = [ADMIN, as('ours_a', FIRST), as('ours_b', SECOND)];
    const states = await run(firewall(FIRST, SECOND), ...after);
    expect(states.get('firewall')?.content.sections).toEqual(after);
    expect(done).toEqual(['write', 'keep']);
  });

  const cases: Record<string, UciSection[]> = {
    'another section has the name': [as('ours_a', SECOND), as('ours_b', FIRST)],
    'a section was skipped': [as('ours_a', FIRST), SECOND],
    'a section is gone': [as('ours_b', SECOND)],
    'sections are in another order': [as('ours_b', SECOND), as('ours_a', FIRST)],
    'options are in another order': [
      as('ours_a', section('', { target: 'DROP', name: 'a' })),
      as('ours_b', SECOND),
    ],
    'the type is another one': [{ ...as('ours_a', FIRST), type: 'zone' }, as('ours_b', SECOND)],
  };
  it.each(Object.entries(cases))('are taken back when %s', async (_what, after) => {
    await expect(run(firewall(FIRST, SECOND), ...after)).rejects.toThrow(OpenwrtBlockedError);
    expect(done).toEqual(['write', 'undo']);
  });

  it('are not given when one of them is taken: of two sections of one name OpenWRT shows one', async () => {
    const before = firewall(FIRST, SECOND, as('ours_b', ADMIN));
    await expect(run(before, FIRST)).rejects.toThrow(OpenwrtError);
    expect(done).toEqual([]);
  });
});
