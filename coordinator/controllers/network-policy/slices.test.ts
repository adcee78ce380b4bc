import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MAX_SLICE_MEMBERS } from '#shared/policy/bounds.ts';
import { slicesOf, type Slices } from './slices.ts';

const many = (count: number): string[] => Array.from({ length: count }, (_, at) => `10.0.${at}`);
const NONE: Slices = new Map();

describe('slicesOf', () => {
  test('has one slice for a group without members', () => {
    expect(slicesOf([], NONE)).toStrictEqual(new Map([[0, []]]));
  });

  test('puts one more than a slice holds into the second one', () => {
    const slices = slicesOf(many(MAX_SLICE_MEMBERS + 1), NONE);
    expect([...slices.values()].map(({ length }) => length)).toStrictEqual([MAX_SLICE_MEMBERS, 1]);
  });

  test('changes one slice when a member leaves, and gives its room to the next one', () => {
    const members = many(2 * MAX_SLICE_MEMBERS);
    const before = slicesOf(members, NONE);
    const gone = members[3];
    const after = slicesOf([...members.filter((one) => one !== gone), 'new'], before);
    const differing = [...after].filter(([at, held]) => held.join() !== before.get(at)?.join());
    expect(differing).toHaveLength(1);
    expect(after.size).toBe(2);
  });

  test('has each member in one slice, whatever is there, and none too long', () => {
    const member = fc.nat(2_000).map((number) => `10.${number}`);
    const present = fc.dictionary(fc.constantFrom('0', '1', '5'), fc.uniqueArray(member));
    fc.assert(
      fc.property(fc.uniqueArray(member, { maxLength: 600 }), present, (members, held) => {
        const before = new Map(Object.entries(held).map(([at, of]) => [Number(at), of]));
        const slices = slicesOf(members, before);
        expect([...slices.values()].flat().sort()).toStrictEqual([...members].sort());
        expect(Math.max(...[...slices.values()].map(({ length }) => length))).toBeLessThanOrEqual(
          MAX_SLICE_MEMBERS,
        );
      }),
    );
  });
});
