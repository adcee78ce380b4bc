/** Options that rules, redirects and `nat` sections ask of packets in the same way. */
import { protocolNumber, type IcmpType } from './protocols.ts';
import { SkippedSection, type Options } from './sections.ts';
import type { Condition, Family } from './types.ts';
import type { Building, FamilyOrBoth } from './building.ts';
import * as values from './values.ts';

export type Ports = readonly values.Negatable<{ low: number; high: number }>[];

export const portConditions = (
  ports: Ports,
  on: 'sourcePort' | 'destinationPort',
  option: string,
): Condition[] =>
  [false, true].flatMap((negated) => {
    const ranges = ports.filter((one) => one.negated === negated);
    return ranges.length === 0 ? [] : [{ on, option, ranges, negated }];
  });

/** As nft compares them: one port less on each side is one comparison of both. */
export const comparedByNft = (conditions: readonly Condition[]): Condition[] => {
  const [source, destination] = (['sourcePort', 'destinationPort'] as const).map((side) =>
    conditions.find((one) => one.on === side && onlyExcluded(one) !== undefined),
  );
  const ports = [source && onlyExcluded(source), destination && onlyExcluded(destination)] as const;
  if (!source || !destination || ports[0] === undefined || ports[1] === undefined)
    return [...conditions];
  const both: Condition = {
    on: 'ports',
    source: ports[0],
    destination: ports[1],
    option: destination.option,
  };
  return [...conditions.filter((one) => one !== source && one !== destination), both];
};

const onlyExcluded = (condition: Condition): number | undefined => {
  if (condition.on !== 'sourcePort' && condition.on !== 'destinationPort') return undefined;
  const [one, ...more] = condition.ranges;
  const isOne = one !== undefined && more.length === 0 && one.low === one.high;
  return condition.negated && isOne ? one.low : undefined;
};

export const familyCondition = (family: FamilyOrBoth): Condition[] =>
  family === 4 || family === 6 ? [{ on: 'family', is: family, option: 'family' }] : [];

/** firewall4's own default: both that have ports. */
export const protocolsOf = (options: Options): readonly { name: string | undefined }[] =>
  options.has('proto')
    ? options.list('proto', values.protocol).flat()
    : [{ name: 'tcp' }, { name: 'udp' }];

/** `name` undefined: any. "icmp" is that of the version of IP, where it is known. */
export const protocolCondition = (name: string | undefined, family: FamilyOrBoth): Condition[] => {
  if (name === undefined) return [];
  const option = 'proto';
  if (name === 'icmp') {
    const numbers = family === 6 ? [58] : family === 4 ? [1] : [1, 58];
    return [{ on: 'protocol', in: numbers, option }];
  }
  const number = protocolNumber(name);
  return number === undefined
    ? [{ on: 'unknown', words: `the protocol is ${name}`, option }]
    : [{ on: 'protocol', in: [number], option }];
};

export const icmpConditions = (types: readonly IcmpType[], family: Family): Condition[] => [
  ...protocolCondition(family === 4 ? 'icmp' : 'ipv6-icmp', family),
  ...(types.length === 0 ? [] : [{ on: 'icmp' as const, types, option: 'icmp_type' }]),
];

export const macConditions = (macs: readonly values.Negatable<{ mac: string }>[]): Condition[] =>
  [false, true].flatMap((negated) => {
    const some = macs.filter((one) => one.negated === negated).map(({ mac }) => mac);
    return some.length === 0 ? [] : [{ on: 'mac', macs: some, negated, option: 'src_mac' }];
  });

/**
 * What firewall4 checks in each of these sections; all of it is a condition that cannot be told
 * beforehand, or one of marks.
 */
export const laterConditions = (options: Options): Condition[] => [
  ...limitCondition(options),
  ...timeCondition(options),
  ...markCondition(options),
];

const limitCondition = (options: Options): Condition[] => {
  const limit = options.one('limit', values.limit);
  options.one('limit_burst', values.integer);
  const words = `there have been no more than ${limit?.words ?? ''} before it`;
  return limit ? [{ on: 'unknown', words, option: 'limit' }] : [];
};

const TIMES = [
  ['start_date', values.date],
  ['stop_date', values.date],
  ['start_time', values.time],
  ['stop_time', values.time],
  ['weekdays', values.weekdays],
] as const;

const timeCondition = (options: Options): Condition[] => {
  options.one('utc_time', values.bool);
  const given = TIMES.flatMap(([option, read]) => {
    const value = options.one(option, read);
    return value === undefined ? [] : [`${option} ${value}`];
  });
  const words = `the clock is within ${given.join(', ')}`;
  return given.length === 0
    ? []
    : [{ on: 'unknown', words, option: given[0]?.split(' ')[0] ?? 'start_time' }];
};

const markCondition = (options: Options): Condition[] => {
  const mark = options.one('mark', values.mark);
  return mark ? [{ on: 'mark', ...mark, option: 'mark' }] : [];
};

/** A set by its name, and the version of IP of its members. @throws SkippedSection without a set */
export const setCondition = (
  options: Options,
  { sets }: Building,
): { conditions: Condition[]; family: FamilyOrBoth } => {
  const set = options.one('ipset', values.setMatch);
  if (!set) return { conditions: [], family: undefined };
  if (!sets.has(set.name))
    throw new SkippedSection(`it refers to a set ${set.name} that is not there`);
  const words = `it is ${set.negated ? 'not ' : ''}in the set ${set.name}`;
  return {
    conditions: [{ on: 'unknown', words, option: 'ipset' }],
    family: sets.get(set.name),
  };
};

/** The helper of connection tracking, whose names only the device knows. */
export const helperCondition = (options: Options): Condition[] => {
  const helper = options.one('helper', values.device);
  const words = `the connection ${helper?.negated === true ? 'has not' : 'has'} the helper ${helper?.name ?? ''}`;
  return helper ? [{ on: 'unknown', words, option: 'helper' }] : [];
};
