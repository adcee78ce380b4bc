/** Addresses under masks with gaps, such as `::2/-64`. */
import type { Condition } from '../types.ts';

export type Masked = Extract<Condition, { mask: bigint }>;

/** To get past what a mask rules out. */
const MAX_STEPS = 8;

/** The next from there on that fits all of them; undefined where one rules out what another asks. */
export const nextUnder = (from: bigint, masks: readonly Masked[]): bigint | undefined => {
  const asked = masks.filter(({ negated }) => !negated);
  const all = {
    mask: asked.reduce((bits, one) => bits | one.mask, 0n),
    value: asked.reduce((bits, one) => bits | one.value, 0n),
  };
  let one = nextWith(from, all);
  for (let left = MAX_STEPS; left > 0; left--) {
    const at = one;
    if (masks.every((other) => ((at & other.mask) === other.value) !== other.negated)) return at;
    one = nextWith(at + 1n, all);
  }
  return undefined;
};

/** The next from there on whose bits under the mask are those of the value. */
const nextWith = (from: bigint, { mask, value }: { mask: bigint; value: bigint }): bigint => {
  const wrong = (from ^ value) & mask;
  if (wrong === 0n) return from;
  const top = BigInt(wrong.toString(2).length - 1);
  const lower = value & mask & ((1n << (top + 1n)) - 1n);
  const above = (from >> top) >> 1n;
  if ((value >> top) & 1n) return ((above << 1n) << top) | lower;
  // Bits that are asked for are full, so that one more changes those that are free.
  const fixed = (mask >> top) >> 1n;
  const grown = (((above | fixed) + 1n) & ~fixed) | (above & fixed);
  return ((grown << 1n) << top) | lower;
};
