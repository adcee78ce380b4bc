/**
 * The zone that fw4 takes for the destination of a redirect that names none: the first with a
 * network that the new address is in.
 */
import { BlockList } from 'node:net';
import type { TakenSection } from './taken-sections.ts';
import { firstOf, type Values } from './values.ts';

/**
 * Network -> the addresses of its interface and of its link, where it has an IPv4 address of its
 * own.
 */
export type Subnets = ReadonlyMap<string, BlockList | undefined>;

export const subnetOf = (
  address: string | undefined,
  mask: string | undefined,
): BlockList | undefined => {
  if (address === undefined || mask === undefined) return undefined;
  const bits = mask
    .split('.')
    .map((part) => Number(part).toString(2).replaceAll('0', '').length)
    .reduce((sum, ones) => sum + ones, 0);
  const list = new BlockList();
  list.addSubnet(address, bits);
  return list;
};

export const assumedZone = (
  values: Values,
  taken: readonly TakenSection[],
  subnets: Subnets,
): string | undefined => {
  const address = firstOf(values, 'dest_ip');
  const isSource = firstOf(values, 'target') === 'snat';
  if (isSource || values.has('dest') || address === undefined) return undefined;
  const zone = taken.find(
    ({ section, values: its }) =>
      section.type === 'zone' &&
      (its.get('network') ?? []).some(({ value }) => subnets.get(value)?.check(address)),
  );
  return zone && firstOf(zone.values, 'name');
};
