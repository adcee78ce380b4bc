import { BlockList } from 'node:net';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  addressText,
  blockText,
  parseBlock,
  WIDTH,
  type Block,
} from '#shared/policy/address-blocks.ts';
import { outermost, piecesOf } from './pieces.ts';

const block = (text: string): Block => {
  const parsed = parseBlock(text);
  if (!parsed) throw new Error(`${text} is no block`);
  return parsed;
};
const pieces = (of: string, ...except: string[]): string[] =>
  piecesOf(block(of), except.map(block)).map(blockText);

it.each([
  [
    ['1.1.1.0/24', '1.1.1.0/26'],
    ['1.1.1.64/26', '1.1.1.128/25'],
  ],
  [
    ['10.0.0.0/30', '10.0.0.1/32', '10.0.0.2/32'],
    ['10.0.0.0/32', '10.0.0.3/32'],
  ],
  [['10.0.0.0/8'], ['10.0.0.0/8']],
  [['10.0.0.0/8', '0.0.0.0/0'], []],
  [['10.0.0.0/8', '10.0.0.0/8'], []],
  [['10.0.0.0/8', '11.0.0.0/8', 'fd00::/8'], ['10.0.0.0/8']],
  [
    ['fd00::/126', 'fd00::1/128'],
    ['fd00::/128', 'fd00::2/127'],
  ],
])('%j', ([of = '', ...except], expected) => {
  expect(pieces(of, ...except)).toEqual(expected);
});

it.each([
  [['10.0.0.0/8'], ['10.0.0.0/8']],
  [
    ['fd00::/8', '10.1.0.0/16', '10.0.0.0/8', '10.0.0.0/8', '10.0.0.0/7', '9.0.0.0/8'],
    ['9.0.0.0/8', '10.0.0.0/7', 'fd00::/8'],
  ],
  [
    ['10.2.0.0/16', '10.1.0.0/16', '10.1.2.0/24', '10.3.0.1/32'],
    ['10.1.0.0/16', '10.2.0.0/16', '10.3.0.1/32'],
  ],
])('finds the outermost of %j', (those, expected) => {
  expect(outermost(those.map(block)).map(blockText)).toEqual(expected);
});

describe.each([4, 6] as const)('IPv%i', (family) => {
  const width = WIDTH[family];
  const start = family === 4 ? 10n << 24n : 0xfdn << 120n;
  const FREE = 12;
  /** In a block of 4,096 addresses, so that they meet. */
  const blocks = fc
    .tuple(fc.bigInt(0n, (1n << BigInt(FREE)) - 1n), fc.integer({ min: width - FREE, max: width }))
    .map(([bits, length]): Block => {
      const behind = BigInt(width - length);
      return { family, bits: ((start + bits) >> behind) << behind, length };
    });

  it('has each address once that is in the block and in no exception', () => {
    fc.assert(
      fc.property(
        blocks,
        fc.array(blocks, { maxLength: 8 }),
        fc.array(fc.bigInt(0n, (1n << BigInt(FREE)) - 1n), { minLength: 50, maxLength: 50 }),
        (of, except, offsets) => {
          const type = family === 4 ? 'ipv4' : 'ipv6';
          const listOf = (those: readonly Block[]): BlockList => {
            const list = new BlockList();
            for (const one of those) list.addSubnet(addressText(one), one.length, type);
            return list;
          };
          const found = piecesOf(of, except);
          const [outer, inner, all] = [listOf([of]), listOf(except), listOf(found)];
          for (const offset of offsets) {
            const text = addressText({ family, bits: start + offset });
            expect(all.check(text, type)).toBe(outer.check(text, type) && !inner.check(text, type));
          }
          // None twice.
          for (const [at, one] of found.entries())
            expect(
              listOf(found.filter((_, other) => other !== at)).check(addressText(one), type),
            ).toBe(false);
        },
      ),
      { numRuns: 200 },
    );
  });
});
