/** Lists of addresses of a section, split and grouped as firewall4 makes kernel rules of them. */
import type { AddressMatch, Condition, Family } from './types.ts';
import type { AddressGroup } from './values.ts';

export type Signed = AddressMatch & { negated: boolean };
export type ByFamily = { 4: readonly Signed[]; 6: readonly Signed[] };

export const byFamily = (groups: readonly AddressGroup[]): ByFamily => {
  const all = groups.flatMap(({ negated, addresses }) =>
    addresses.map((address) => ({ ...address, negated })),
  );
  return {
    4: all.filter(({ family }) => family === 4),
    6: all.filter(({ family }) => family === 6),
  };
};

export const has = (addresses: ByFamily, family: Family): boolean => addresses[family].length > 0;
export const isEmpty = (addresses: ByFamily): boolean => !has(addresses, 4) && !has(addresses, 6);

/** Undefined: of none. 0: of both. */
export const familyIn = (addresses: ByFamily): Family | 0 | undefined => {
  if (isEmpty(addresses)) return undefined;
  return has(addresses, 4) && has(addresses, 6) ? 0 : has(addresses, 4) ? 4 : 6;
};

type Side = { on: 'source' | 'destination'; option: string; family: Family };

/**
 * Alternatives. Each network under a mask with gaps is one of its own, all others together are one;
 * what is negated holds in each, where networks under masks count for those under masks, and all
 * others for all.
 */
export const alternatives = (
  addresses: readonly Signed[],
  side: Side,
): readonly (readonly Condition[])[] => {
  const isGapped = ({ mask }: Signed): boolean => mask !== undefined;
  const wanted = addresses.filter(({ negated }) => !negated);
  const unwanted = addresses.filter(({ negated }) => negated);
  const not = [
    ...inRanges(
      unwanted.filter((one) => !isGapped(one)),
      side,
      true,
    ),
    ...unwanted.filter(isGapped).flatMap((one) => underMask(one, side)),
  ];
  const groups = wanted.filter(isGapped).map((one) => [...underMask(one, side), ...not]);
  const plain = wanted.filter((one) => !isGapped(one));
  if (plain.length > 0) groups.push([...inRanges(plain, side, false), ...not]);
  return groups.length > 0 ? groups : [not];
};

const inRanges = (addresses: readonly Signed[], side: Side, negated: boolean): Condition[] =>
  addresses.length === 0 ? [] : [{ ...side, ranges: addresses.map(({ range }) => range), negated }];

const underMask = ({ mask, range, negated }: Signed, side: Side): Condition[] =>
  mask === undefined ? [] : [{ ...side, mask, value: range.low, negated }];
