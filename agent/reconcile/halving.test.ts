import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSearch } from './halving.ts';

/** Tries until nothing is left out; `accepts` tells whether OpenWRT takes a set. */
const run = (all: readonly string[], accepts: (uids: readonly string[]) => boolean) => {
  const search = createSearch();
  const guilty = new Set<string>();
  let tries = 0;
  for (;;) {
    const leftOut = new Set(search.leftOut());
    const tried = all.filter((uid) => !leftOut.has(uid) && !guilty.has(uid));
    tries += 1;
    if (accepts(tried)) {
      if (!search.accepted()) return { guilty: [...guilty], tries };
    } else {
      const found = search.refused(() => tried);
      if (found !== undefined) guilty.add(found);
    }
  }
};

const uids = (count: number): string[] => Array.from({ length: count }, (_, at) => `uid-${at}`);

describe('the search for refused rules', () => {
  it('finds exactly the refused rules, at any place', () => {
    fc.assert(
      fc.property(
        fc
          .integer({ min: 1, max: 60 })
          .chain((count) => fc.subarray(uids(count)).map((bad) => ({ count, bad }))),
        ({ count, bad }) => {
          const { guilty } = run(uids(count), (tried) => tried.every((uid) => !bad.includes(uid)));
          expect(guilty.toSorted()).toEqual(bad.toSorted());
        },
      ),
    );
  });

  it('takes about two tries per halving for one refused rule of a thousand', () => {
    const { guilty, tries } = run(uids(1_000), (tried) => !tried.includes('uid-777'));
    expect(guilty).toEqual(['uid-777']);
    expect(tries).toBeLessThanOrEqual(22);
  });

  it('blames the later one of two that cannot be together', () => {
    const { guilty } = run(
      uids(20),
      (tried) => !(tried.includes('uid-3') && tried.includes('uid-15')),
    );
    expect(guilty).toEqual(['uid-15']);
  });

  it('goes on with the others when OpenWRT names a rule in between', () => {
    const search = createSearch();
    expect(search.refused(() => ['a', 'b', 'c', 'd'])).toBeUndefined();
    expect(search.leftOut()).toEqual(['c', 'd']);
    search.clear(['b', 'c']);
    expect(search.leftOut()).toEqual(['d']);
    expect(search.refused(() => ['nobody asks anew'])).toBe('a');
    expect(search.leftOut()).toEqual([]);
    expect(search.refused(() => ['nobody asks anew'])).toBe('d');
    expect(search.accepted()).toBe(false);
  });

  it('asks for suspects again when all of the last were named', () => {
    const search = createSearch();
    search.refused(() => ['a', 'b', 'c', 'd']);
    search.clear(['a', 'b']);
    expect(search.refused(() => ['e'])).toBe('e');
    expect(search.leftOut()).toEqual([]);
    expect(search.refused(() => ['nobody asks anew'])).toBeUndefined();
    search.clear(['c', 'd']);
    expect(search.accepted()).toBe(false);
    expect(search.refused(() => ['f'])).toBe('f');
  });

  it('skips groups that are empty', () => {
    const search = createSearch();
    search.refused(() => ['a', 'b', 'c', 'd']);
    search.refused(() => []);
    search.clear(['b']);
    expect(search.accepted()).toBe(true);
    expect(search.leftOut()).toEqual([]);
  });
});
