import { describe, expect, it } from 'vitest';
import { partsBeside } from '#shared/resources/parts.ts';
import type { UciDelta, UciSection } from '#shared/uci/model.ts';
import type { UbusSession } from '../ubus/login/session.ts';
import { createManualClock } from '#shared/runtime/testing/manual-clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { createFastPath } from '../ubus/write/fast-path.ts';
import { createNotDone } from '../ubus/write/not-done.ts';
import { unconfirmedInMemory } from '../ubus/write/testing.ts';
import { createReloadTimes } from '../ubus/write/reload-times.ts';
import { applyParts, partOf, parts } from './parts.ts';
import type { Carry, Change, Part } from './part.ts';

const deltaOf = (name: string): UciDelta => ({ package: name, remove: [], set: [], append: [] });

const session: UbusSession = {
  id: 'of nobody',
  call: () => Promise.reject(new Error('not to be called')),
  attempt: () => Promise.reject(new Error('not to be called')),
};

describe('a change of several parts', () => {
  const steps: string[] = [];
  const partNamed = (name: string, carry: (rest: Change, others: Carry) => ReturnType<Carry>) => {
    const part: Part = {
      holds: (other) => other === name,
      read: () => Promise.resolve(new Map()),
      fingerprint: () => Promise.resolve(new Map()),
      delta: ({ observed }) => deltaOf(observed.name),
      apply: (change, others) => {
        steps.push(`${name} has ${change.deltas.map((delta) => delta.package).join(' ')}`);
        return carry(
          { ...change, deltas: change.deltas.filter((delta) => delta.package !== name) },
          others,
        );
      },
      rights: () => ({}),
    };
    return part;
  };
  const around = (name: string): Part =>
    partNamed(name, async (rest, others) => {
      const result = await others(rest);
      steps.push(`${name} sees ${result.outcome}`);
      return result;
    });
  const change = {
    session,
    path: createFastPath({ unconfirmed: unconfirmedInMemory(), log: silentLogger }),
    lastRead: new Map(),
    timing: {
      clock: createManualClock(),
      times: createReloadTimes(),
      notDone: createNotDone(createManualClock()),
    },
    deltas: ['a', 'b', 'c'].map(deltaOf),
    signal: new AbortController().signal,
  };

  it('lets each part apply its own deltas, later parts around earlier ones', async () => {
    steps.length = 0;
    const result = await applyParts(['a', 'b', 'c'].map(around), change);
    expect(result.outcome).toBe('done');
    expect(steps).toEqual([
      'c has a b c',
      'b has a b',
      'a has a',
      'a sees done',
      'b sees done',
      'c sees done',
    ]);
  });

  it('ends with the part that refuses it, and the parts around it learn of that', async () => {
    steps.length = 0;
    const refusing = partNamed('b', () =>
      Promise.resolve({ outcome: 'rejected', package: 'b', message: 'no', sections: [] }),
    );
    const result = await applyParts([around('a'), refusing, around('c')], change);
    expect(result).toMatchObject({ outcome: 'rejected', package: 'b' });
    expect(steps).toEqual(['c has a b c', 'b has a b', 'c sees rejected']);
  });
});

it('has each name in one part, and an entry for each part beside the packages', () => {
  for (const name of ['firewall', ...partsBeside.map((part) => part.name)]) {
    expect(parts.filter(({ holds }) => holds(name))).toEqual([partOf(name)]);
  }
  expect(new Set(['firewall', ...partsBeside.map(({ name }) => name)].map(partOf)).size).toBe(
    parts.length,
  );
});

describe('the delta of files', () => {
  const file = (name: string, content: string): UciSection => ({
    name,
    anonymous: false,
    type: 'file',
    options: { content },
  });
  const [part = { name: '' }] = partsBeside;
  const deltaFrom = (there: UciSection[], desired: UciSection[]) =>
    partOf(part.name).delta({
      observed: { name: part.name, sections: there },
      desired,
      isOurs: ({ name }) => name !== 'of another',
    });

  it('leaves files that are as wanted, in any order', () => {
    const [a, b] = [file('a', '1'), file('b', '2')];
    expect(deltaFrom([a, b], [b, a])).toEqual(deltaOf(part.name));
  });

  it('adds what is new, changes what differs and removes what is not wanted', () => {
    const [before, after] = [file('a', '1'), file('a', '2')];
    const there = [before, file('old', '3'), file('of another', '4')];
    expect(deltaFrom(there, [after, file('new', '5')])).toEqual({
      package: part.name,
      remove: ['old'],
      set: [{ before, after }],
      append: [file('new', '5')],
    });
  });
});
