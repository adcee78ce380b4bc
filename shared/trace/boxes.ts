/**
 * Sets of packets: unions of boxes, each a list of intervals for every property that conditions
 * look at, in one version of IP. What is told beforehand of no packet (limits, sets) is no
 * property, and of two properties together nothing is said: such a condition is left out, and
 * `isExact` says so.
 */
import { isNamed } from './conditions.ts';
import { sizeOf } from './prefixes.ts';
import type { ChainRule, Condition, Family } from './types.ts';

/** Both ends belong to it. */
type Interval = readonly [bigint, bigint];
export type Box = readonly (readonly Interval[])[];

const PROPERTIES = [
  'protocol',
  'in',
  'out',
  'source',
  'destination',
  'sourcePort',
  'destinationPort',
  'icmp',
  'mac',
  'mark',
  'dscp',
  'dnat',
  'invalid',
] as const;
type Property = (typeof PROPERTIES)[number];

/** Names and hardware addresses have numbers: their place here. */
export class Space {
  readonly #family: Family;
  readonly #devices: readonly string[];
  readonly #macs: readonly string[];
  readonly #all: Box;

  constructor(family: Family, rules: Iterable<ChainRule>) {
    this.#family = family;
    const devices = new Set(['', '~']);
    const macs = new Set(['']);
    for (const { conditions } of rules)
      for (const condition of conditions) {
        // Any device that a pattern means and no rule names stands for all such.
        if (condition.on === 'in' || condition.on === 'out')
          for (const name of condition.names) devices.add(name.replace(/\*$/, '~'));
        if (condition.on === 'mac') for (const mac of condition.macs) macs.add(mac);
      }
    this.#devices = [...devices];
    this.#macs = [...macs];
    this.#all = PROPERTIES.map((property) => [[0n, this.#last(property)]]);
  }

  all(): Box {
    return this.#all;
  }

  /** Only those that come in, or go out, by no device. */
  without(box: Box, side: 'in' | 'out'): Box {
    return narrowed(box, side, [[0n, 0n]]);
  }

  /** `isExact`: all of the packets of the box fit. Undefined: none does. */
  of(conditions: readonly Condition[]): { box: Box; isExact: boolean } | undefined {
    let box = this.all();
    let isExact = true;
    for (const condition of conditions) {
      const fitting = this.#fitting(condition);
      if (fitting === 'none') return undefined;
      if (fitting === 'unknown') isExact = false;
      else if (fitting !== 'all') box = narrowed(box, fitting.property, fitting.intervals);
    }
    return isEmpty(box) ? undefined : { box, isExact };
  }

  #last(property: Property): bigint {
    const lasts: Readonly<Record<Property, bigint>> = {
      protocol: 255n,
      in: BigInt(this.#devices.length - 1),
      out: BigInt(this.#devices.length - 1),
      source: (1n << BigInt(sizeOf(this.#family))) - 1n,
      destination: (1n << BigInt(sizeOf(this.#family))) - 1n,
      sourcePort: 65_535n,
      destinationPort: 65_535n,
      icmp: 65_535n,
      mac: BigInt(this.#macs.length - 1),
      mark: 0xffff_ffffn,
      dscp: 63n,
      dnat: 1n,
      invalid: 1n,
    };
    return lasts[property];
  }

  #fitting(condition: Condition): Fitting {
    if (condition.on === 'unknown' || condition.on === 'ports') return 'unknown';
    if (condition.on === 'family') return condition.is === this.#family ? 'all' : 'none';
    if ('family' in condition && condition.family !== this.#family) return 'none';
    const intervals = this.#intervals(condition);
    if (!intervals) return 'unknown';
    const isNegated = 'negated' in condition && condition.negated;
    const sorted = merged(intervals);
    const kept = isNegated ? cut([[0n, this.#last(condition.on)]], sorted) : sorted;
    return { property: condition.on, intervals: kept };
  }

  /** Undefined where they are no intervals. */
  #intervals(
    condition: Exclude<Condition, { on: 'unknown' | 'family' | 'ports' }>,
  ): Interval[] | undefined {
    if ('names' in condition)
      return placesOf(this.#devices, (device) => isNamed(condition.names, device));
    if ('macs' in condition) return placesOf(this.#macs, (mac) => condition.macs.includes(mac));
    if ('types' in condition)
      return condition.types.map(({ type, code }) => [
        BigInt(type * 256 + (code ?? 0)),
        BigInt(type * 256 + (code ?? 255)),
      ]);
    return numbersOf(condition);
  }
}

type Fitting = 'none' | 'all' | 'unknown' | { property: Property; intervals: readonly Interval[] };

const numbersOf = (condition: Condition): Interval[] | undefined => {
  if (condition.on === 'protocol') return condition.in.map((one) => [BigInt(one), BigInt(one)]);
  if (condition.on === 'dnat' || condition.on === 'invalid') return [[1n, 1n]];
  if ('ranges' in condition)
    return condition.ranges.map(({ low, high }) => [BigInt(low), BigInt(high)]);
  const isWhole = !('mask' in condition) || condition.mask === 0xffff_ffff;
  if (!isWhole || !('value' in condition)) return undefined;
  return [[BigInt(condition.value), BigInt(condition.value)]];
};

const placesOf = (names: readonly string[], fits: (name: string) => boolean): Interval[] =>
  names.flatMap((name, at) => (fits(name) ? [[BigInt(at), BigInt(at)] as const] : []));

const narrowed = (box: Box, property: Property, intervals: readonly Interval[]): Box => {
  const at = PROPERTIES.indexOf(property);
  return box.map((own, index) => (index === at ? common(own, intervals) : own));
};

const merged = (intervals: readonly Interval[]): Interval[] => {
  const sorted = [...intervals].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  const all: [bigint, bigint][] = [];
  for (const [low, high] of sorted) {
    const last = all.at(-1);
    if (last && low <= last[1] + 1n) last[1] = high > last[1] ? high : last[1];
    else all.push([low, high]);
  }
  return all;
};

/** Where nothing is asked, both are the same list. */
const common = (a: readonly Interval[], b: readonly Interval[]): readonly Interval[] => {
  if (a === b) return a;
  const found: Interval[] = [];
  for (const [low, high] of a)
    for (const [from, to] of b) {
      const [start, end] = [low > from ? low : from, high < to ? high : to];
      if (start <= end) found.push([start, end]);
    }
  return found;
};

/** `a` without `b`. */
const cut = (a: readonly Interval[], b: readonly Interval[]): readonly Interval[] => {
  let rest: readonly Interval[] = a;
  for (const [from, to] of b)
    rest = rest.flatMap(([low, high]): Interval[] => [
      ...(low < from ? [[low, high < from ? high : from - 1n] as const] : []),
      ...(high > to ? [[low > to ? low : to + 1n, high] as const] : []),
    ]);
  return rest;
};

const isEmpty = (box: Box): boolean => box.some((intervals) => intervals.length === 0);

/** Undefined when they have nothing in common. */
export const both = (a: Box, b: Box): Box | undefined => {
  const box: (readonly Interval[])[] = [];
  for (const [at, intervals] of a.entries()) {
    const own = common(intervals, b[at] ?? []);
    if (own.length === 0) return undefined;
    box.push(own);
  }
  return box;
};

export const inBoth = (packets: readonly Box[], other: Box): Box[] => {
  const found: Box[] = [];
  for (const one of packets) {
    const box = both(one, other);
    if (box) found.push(box);
  }
  return found;
};

/** `a` without `b`, in boxes that have nothing in common. */
export const without = (a: Box, b: Box): Box[] => {
  const inside = both(a, b);
  if (!inside) return [a];
  const parts: Box[] = [];
  let rest = a;
  for (const [at, intervals] of a.entries()) {
    const other = b[at] ?? [];
    if (intervals === other) continue;
    const outside = cut(intervals, other);
    if (outside.length > 0) parts.push(rest.with(at, outside));
    rest = rest.with(at, inside[at] ?? []);
  }
  return parts;
};
