/** A block without others, in as few blocks as cover the rest of it: a rule of a security group has one block and no exceptions. Pure. */
import { holdsBlock, WIDTH, type Block } from '#shared/policy/addresses.ts';

/** In their order. The exceptions lie in the block; those that do not are ignored. */
export const piecesOf = (block: Block, except: readonly Block[]): Block[] => {
  if (except.some((one) => holdsBlock(one, block))) return [];
  const within = except.filter((one) => holdsBlock(block, one));
  if (within.length === 0) return [block];
  return halvesOf(block).flatMap((half) => piecesOf(half, within));
};

const halvesOf = ({ family, bits, length }: Block): [Block, Block] => {
  const longer = length + 1;
  const upper = bits | (1n << BigInt(WIDTH[family] - longer));
  return [
    { family, bits, length: longer },
    { family, bits: upper, length: longer },
  ];
};
