/**
 * A block without others, in as few blocks as cover the rest of it: security groups and address
 * groups have blocks and no exceptions. Pure.
 */
import { holdsBlock, WIDTH, type Block } from '#shared/policy/address-blocks.ts';

/** In their order. The exceptions lie in the block; those that do not are ignored. */
export const piecesOf = (block: Block, except: readonly Block[]): Block[] => {
  if (except.some((one) => holdsBlock(one, block))) return [];
  const within = except.filter((one) => holdsBlock(block, one));
  if (within.length === 0) return [block];
  return halvesOf(block).flatMap((half) => piecesOf(half, within));
};

/** Without those that others of them hold, and each once; sorted. */
export const outermost = (blocks: readonly Block[]): Block[] => {
  const kept: Block[] = [];
  for (const block of blocks.toSorted(byStart)) {
    const last = kept.at(-1);
    if (last === undefined || !holdsBlock(last, block)) kept.push(block);
  }
  return kept;
};

/** The larger of two that start together comes first. */
const byStart = (one: Block, other: Block): number => {
  if (one.family !== other.family) return one.family - other.family;
  if (one.bits !== other.bits) return one.bits < other.bits ? -1 : 1;
  return one.length - other.length;
};

const halvesOf = ({ family, bits, length }: Block): [Block, Block] => {
  const longer = length + 1;
  const upper = bits | (1n << BigInt(WIDTH[family] - longer));
  return [
    { family, bits, length: longer },
    { family, bits: upper, length: longer },
  ];
};
