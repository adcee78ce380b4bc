import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nextUnder, type Masked } from './masks.ts';

const BITS = 7;
const number = fc.bigInt(0n, (1n << BigInt(BITS)) - 1n);
const condition = fc
  .record({ mask: number, bits: number, negated: fc.boolean() })
  .map(({ mask, bits, negated }): Masked => {
    return { on: 'source', option: 'src_ip', family: 4, mask, value: bits & mask, negated };
  });

const fits = (one: bigint, { mask, value, negated }: Masked): boolean =>
  ((one & mask) === value) !== negated;

describe('the next address under masks', () => {
  it('is the first that fits one of them', () => {
    fc.assert(
      fc.property(
        number,
        condition.filter(({ negated }) => !negated),
        (from, masked) => {
          let one = from;
          while (!fits(one, masked)) one += 1n;
          expect(nextUnder(from, [masked])).toBe(one);
        },
      ),
    );
  });

  it('fits all of them, where there is one', () => {
    fc.assert(
      fc.property(number, fc.array(condition, { maxLength: 3 }), (from, masks) => {
        const one = nextUnder(from, masks);
        if (one === undefined) return;
        expect(one).toBeGreaterThanOrEqual(from);
        expect(masks.filter((masked) => !fits(one, masked))).toEqual([]);
      }),
    );
  });
});
