/** Single packets out of a set of them: such as there are in real networks, where the set has some. */
import {
  common,
  intervalsOf,
  type Box,
  type Interval,
  type Property,
  type Space,
} from '../boxes.ts';
import { canBegin, ICMP, type Packet } from '../packet.ts';
import { nextUnder, type Masked } from './masks.ts';
import type { Terrain } from './terrain.ts';
import type { Condition } from '../types.ts';

const TCP = 6;
const UDP = 17;
/** Where none of those will do. */
const OTHERS = [47, 50, 89, 132];
const EPHEMERAL: Interval = [40_000n, 60_000n];
const USUAL_PORTS = [80, 443, 53, 8080, 22];
const ANY_MAC = '02:00:00:00:00:fe';
const PORTS: Interval = [1n, 65_535n];
const MAX_ADDRESSES = 2;

/** @param asked that no box can say: addresses under masks with gaps */
export const picksFrom = (
  box: Box,
  { space, terrain, asked }: { space: Space; terrain: Terrain; asked: readonly Condition[] },
): Packet[] => {
  const { family } = terrain;
  const of = (property: Property): readonly Interval[] => intervalsOf(box, property);
  const device = (side: 'in' | 'out'): string => space.device(of(side)[0]?.[0] ?? 0n);
  const masks = asked.filter((one): one is Masked => 'mask' in one && typeof one.mask === 'bigint');
  const addresses = (side: 'source' | 'destination', link: string | undefined): bigint[] =>
    addressesIn(of(side), {
      near: terrain.linked(link),
      masks: masks.filter(({ on }) => on === side),
    });
  const protocol = numberIn(of('protocol'), [TCP, UDP, ICMP[family], ...OTHERS]);
  const mac = space.mac(of('mac')[0]?.[0] ?? 0n) || ANY_MAC;
  const transport = {
    protocol,
    ...((protocol === TCP || protocol === UDP) && {
      sourcePort: portIn(of('sourcePort'), [EPHEMERAL]),
      destinationPort: portIn(
        of('destinationPort'),
        USUAL_PORTS.map((one) => [BigInt(one), BigInt(one)]),
      ),
    }),
    ...(protocol === ICMP[family] && { icmp: icmpIn(of('icmp'), family) }),
    dscp: numberIn(of('dscp'), [0]),
    mark: 0,
  };
  const from = device('in');
  return addresses('source', from || undefined).flatMap((source) =>
    addresses('destination', device('out') || from || undefined).map((destination) => ({
      in: from === '' ? undefined : from,
      family,
      source,
      destination,
      ...transport,
      ...(from !== '' && { mac }),
    })),
  );
};

const isAmong = (intervals: readonly Interval[], one: bigint): boolean =>
  intervals.some(([low, high]) => one >= low && one <= high);

const numberIn = (intervals: readonly Interval[], wanted: readonly number[]): number =>
  wanted.find((one) => isAmong(intervals, BigInt(one))) ?? Number(intervals[0]?.[0] ?? 0n);

const portIn = (intervals: readonly Interval[], wanted: readonly Interval[]): number => {
  const some = common(intervals, wanted);
  const [first] = some.length > 0 ? some : common(intervals, [PORTS]);
  return Number(first?.[0] ?? 0n);
};

const icmpIn = (intervals: readonly Interval[], family: 4 | 6): { type: number; code: number } => {
  const both = (one: bigint) => ({ type: Number(one >> 8n), code: Number(one & 0xffn) });
  const ECHO = family === 4 ? 8 : 128;
  const types = [ECHO, ...Array.from({ length: 256 }, (_, type) => type)];
  const [beginning] = types
    .filter((type) => canBegin(family, type))
    .flatMap((type) => common(intervals, [[BigInt(type * 256), BigInt(type * 256 + 255)]]));
  return both((beginning ?? intervals[0])?.[0] ?? 0n);
};

const addressesIn = (
  intervals: readonly Interval[],
  { near, masks }: { near: readonly Interval[]; masks: readonly Masked[] },
): bigint[] => {
  const found = new Set<bigint>();
  for (const [low, high] of [...common(intervals, near), ...intervals])
    for (const from of [low, high]) {
      const one = nextUnder(from, masks);
      if (one !== undefined && one <= high) found.add(one);
    }
  return [...found].slice(0, MAX_ADDRESSES);
};
