import { describe, expect, it } from 'vitest';
import { chosenRows, shareOf } from './choice.ts';
import type { Row } from './row.ts';
import { rows } from './rows/all.ts';

const row = (id: string, takesSeconds: number, isLong = false): Row => ({
  id,
  fault: id,
  holds: '',
  boundMs: 1_000,
  takesSeconds,
  ...(isLong && { isLong: true as const }),
  run: async () => undefined,
});
const many = Array.from({ length: 40 }, (_, index) => row(`row-${index}`, 30));

describe('rows', () => {
  it('have names of their own', () => {
    expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
  });

  it('run when they are named, in the order in which they are', () => {
    const ids = rows.map(({ id }) => id).toReversed();
    expect(chosenRows(ids.join(',')).map(({ id }) => id)).toEqual(ids);
  });

  it('are refused when there is none of that name', () => {
    expect(() => chosenRows('agents-killed,agents-kiled')).toThrow(
      'agents-kiled: there are agents-k',
    );
  });

  it('run at night when they take minutes', () => {
    expect(chosenRows('night')).toEqual(rows);
    expect(chosenRows('').some(({ isLong }) => isLong)).toBe(false);
  });

  it('take forty minutes at most', () => {
    const seconds = chosenRows('').reduce((sum, { takesSeconds }) => sum + takesSeconds, 0);
    expect(seconds).toBeLessThan(40 * 60);
  });
});

describe("a commit's share", () => {
  it('is a tenth, and the same each time', () => {
    expect(shareOf('abc', many)).toHaveLength(4);
    expect(shareOf('abc', many)).toEqual(shareOf('abc', many));
  });

  it('is another one for another commit, so that all have their turn', () => {
    const seen = new Set(
      Array.from({ length: 200 }, (_, index) => shareOf(String(index), many)).flat(),
    );
    expect(seen.size).toBe(many.length);
  });

  it('takes no more than two hundred seconds, and has one row at least', () => {
    const slow = many.map((each) => ({ ...each, takesSeconds: 90 }));
    expect(shareOf('abc', slow)).toHaveLength(2);
    expect(shareOf('abc', [row('one', 500)])).toHaveLength(1);
  });

  it('has none that takes minutes', () => {
    expect(shareOf('abc', [row('long', 30, true)])).toEqual([]);
  });
});
