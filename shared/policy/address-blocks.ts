/**
 * IP addresses and blocks of both families, in one spelling each: two texts of one address are one
 * member of a set, not two.
 */
import { addressOf, familyOf, numberOf } from '../util/addresses.ts';

export { familyOf };

export const FAMILIES = [4, 6] as const;
export type Family = (typeof FAMILIES)[number];

export type Address = { family: Family; bits: bigint };
/** `length`: of the prefix; the bits behind it are 0. */
export type Block = Address & { length: number };

export const WIDTH: Readonly<Record<Family, number>> = { 4: 32, 6: 128 };

/** Undefined when it is no address. */
export const parseAddress = (text: string): Address | undefined => {
  const family = familyOf(text);
  return family && { family, bits: numberOf(text) };
};

export const addressText = ({ family, bits }: Address): string => addressOf(bits, family);

/** The one spelling, and the family; undefined when it is no address. */
export const spelled = (text: string): { family: Family; address: string } | undefined => {
  const address = parseAddress(text);
  return address && { family: address.family, address: addressText(address) };
};

/** The one spelling of an address; what is none, as it is. */
export const spelling = (text: string): string => spelled(text)?.address ?? text;

/** An address without the length of a prefix, if it has one. */
export const withoutLength = (text: string): string => text.split('/', 1)[0] ?? text;

/** Bits behind the prefix do not count, as for the API server. Undefined when it is no block. */
export const parseBlock = (text: string): Block | undefined => {
  const [, base = '', digits = ''] = /^([^/]+)\/(\d{1,3})$/.exec(text) ?? [];
  const address = parseAddress(base);
  const length = Number(digits);
  if (address === undefined || length > WIDTH[address.family]) return undefined;
  return { ...address, bits: prefixOf(address, length), length };
};

/** That of the address alone. */
export const blockOfOne = (address: Address): Block => ({
  ...address,
  length: WIDTH[address.family],
});

export const blockText = (block: Block): string => `${addressText(block)}/${block.length}`;

/** Whether all of `inner` is in `outer`. Two blocks are nested or disjoint. */
export const holdsBlock = (outer: Block, inner: Block): boolean =>
  outer.family === inner.family &&
  outer.length <= inner.length &&
  prefixOf(inner, outer.length) === outer.bits;

const prefixOf = ({ family, bits }: Address, length: number): bigint => {
  const behind = BigInt(WIDTH[family] - length);
  return (bits >> behind) << behind;
};
