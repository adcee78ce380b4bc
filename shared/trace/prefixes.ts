/** Prefixes as ranges of addresses. */
import type { Family, Prefix, Range } from './types.ts';

export const sizeOf = (family: Family): number => (family === 4 ? 32 : 128);

export const prefixRange = ({ family, address, bits }: Prefix): Range => {
  const host = BigInt(sizeOf(family) - bits);
  const low = (address >> host) << host;
  return { low, high: low + (1n << host) - 1n };
};

export const isIn = (address: bigint, { low, high }: Range): boolean =>
  address >= low && address <= high;
