/**
 * Values of options of /etc/config/firewall as firewall4 reads them. Each reader returns undefined
 * for what firewall4 refuses, and it then leaves the whole section out.
 */
import { familyOf, numberOf } from '../util/addresses.ts';
import { own } from '../util/own.ts';
import { prefixRange, sizeOf } from './prefixes.ts';
import { icmpTypes, type IcmpType } from './protocols.ts';
import type { AddressMatch, Family, NetworkState, PortRange, Prefix } from './types.ts';

export type Negatable<T> = T & { negated: boolean };

/** `0`: both, said explicitly. */
export type FamilyValue = Family | 0;

export const negatable = (text: string): { negated: boolean; rest: string } | undefined => {
  const rest = text.replace(/^[ \t]*!/, '').trim();
  return rest === '' ? undefined : { negated: /^[ \t]*!/.test(text), rest };
};

/** firewall4 takes the beginning of a word for the word, in either case. */
const oneOf =
  <T extends string>(words: readonly T[]) =>
  (text: string): T | undefined =>
    words.find((word) => word.startsWith(text.toLowerCase()));

export const policy = oneOf(['accept', 'reject', 'drop']);
export const target = oneOf([
  'accept',
  'reject',
  'drop',
  'notrack',
  'helper',
  'mark',
  'dscp',
  'dnat',
  'snat',
  'masquerade',
]);
export const reflectionSource = oneOf(['internal', 'external']);
const limitUnit = oneOf(['second', 'minute', 'hour', 'day']);
const weekday = oneOf([
  'monday',
  'tuesday',
  'wednesday',
  'thursday',
  'friday',
  'saturday',
  'sunday',
]);

const TRUE = new Set(['1', 'on', 'true', 'yes']);
const FALSE = new Set(['0', 'off', 'false', 'no']);
export const bool = (text: string): boolean | undefined =>
  TRUE.has(text) ? true : FALSE.has(text) ? false : undefined;

export const family = (text: string): FamilyValue | undefined => {
  if (['any', 'all', '*'].includes(text)) return 0;
  if (text === 'inet' || text.includes('4')) return 4;
  return text.includes('6') ? 6 : undefined;
};

export const direction = (text: string): 'in' | 'out' | undefined =>
  own({ in: 'in', ingress: 'in', out: 'out', egress: 'out' } as const, text);

export const identifier = (text: string): string | undefined =>
  /^[a-zA-Z_.][a-zA-Z0-9/_.-]*$/.test(text) ? text : undefined;

export const text = (value: string): string => value;

export const integer = (value: string): number | undefined =>
  /^-?(0x[0-9a-f]+|\d+)$/i.test(value.trim()) ? Number(value) : undefined;

export const device = (value: string): Negatable<{ name: string }> | undefined => {
  const read = negatable(value);
  return read && { name: read.rest, negated: read.negated };
};

export const mac = (value: string): Negatable<{ mac: string }> | undefined => {
  const read = negatable(value);
  if (!read || !/^([0-9a-f]{1,2}[:-]){5}[0-9a-f]{1,2}$/i.test(read.rest)) return undefined;
  const bytes = read.rest.toLowerCase().split(/[:-]/);
  return { negated: read.negated, mac: bytes.map((byte) => byte.padStart(2, '0')).join(':') };
};

export const port = (value: string): Negatable<PortRange> | undefined => {
  const read = negatable(value);
  const [, low, high = low] = /^(\d{1,5})(?:[-:](\d{1,5}))?$/.exec(read?.rest ?? '') ?? [];
  if (!read || low === undefined) return undefined;
  const range = { low: Number(low), high: Number(high) };
  if (range.low > range.high || range.high > 65_535) return undefined;
  return { ...range, negated: read.negated };
};

/** `name` undefined: any protocol. firewall4 reads the `!` of a protocol and then leaves it out. */
export const protocol = (value: string): readonly { name: string | undefined }[] | undefined => {
  const name = negatable(value)?.rest.toLowerCase();
  if (name === undefined) return undefined;
  if (['all', 'any', '*'].includes(name)) return [{ name: undefined }];
  if (name === 'tcpudp') return [{ name: 'tcp' }, { name: 'udp' }];
  return [{ name: own(ALIASES, name) ?? name }];
};

const ALIASES: Readonly<Record<string, string>> = {
  '1': 'icmp',
  '58': 'ipv6-icmp',
  icmpv6: 'ipv6-icmp',
  '6': 'tcp',
  '17': 'udp',
};

export const icmpType = (
  value: string,
): { 4: IcmpType | undefined; 6: IcmpType | undefined } | undefined => icmpTypes(value);

export const limit = (value: string): Negatable<{ words: string }> | undefined => {
  const read = negatable(value);
  const [, rate, unit = 'second'] = /^(\d+)(?:\/([a-z]+))?$/.exec(read?.rest ?? '') ?? [];
  const word = limitUnit(unit);
  return read && rate !== undefined && word !== undefined
    ? { negated: read.negated, words: `${rate}/${word}` }
    : undefined;
};

export const time = (value: string): string | undefined => {
  const [, hour, minute = '0', second = '0'] =
    /^(\d{1,2})(?::(\d{1,2})(?::(\d{1,2}))?)?$/.exec(value) ?? [];
  return hour !== undefined && Number(hour) < 24 && Number(minute) < 60 && Number(second) < 60
    ? value
    : undefined;
};

export const date = (value: string): string | undefined => {
  const [, year, month = '1', day = '1', clock = '0'] =
    /^(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})(?:T([\d:]+))?)?)?$/.exec(value) ?? [];
  const isDate =
    Number(year) >= 1970 && Number(year) <= 2038 && Number(month) <= 12 && Number(day) <= 31;
  return isDate && time(clock) !== undefined ? value : undefined;
};

export const weekdays = (value: string): string | undefined =>
  (negatable(value)?.rest.split(/[ \t]+/) ?? ['?']).every((day) => weekday(day) !== undefined)
    ? value
    : undefined;

export const mark = (value: string): Negatable<{ value: number; mask: number }> | undefined => {
  const read = negatable(value);
  const [, number, mask = '0xffffffff'] =
    /^(0?x?[0-9a-f]+)(?:\/(0?x?[0-9a-f]+))?$/i.exec(read?.rest ?? '') ?? [];
  if (!read || number === undefined) return undefined;
  const parsed = { value: Number(number), mask: Number(mask) };
  const fits = [parsed.value, parsed.mask].every((one) => one >= 0 && one <= 0xffff_ffff);
  return fits ? { ...parsed, negated: read.negated } : undefined;
};

const DSCP: Readonly<Record<string, number>> = {
  BE: 0,
  LE: 1,
  EF: 0x2e,
  ...Object.fromEntries(Array.from({ length: 8 }, (_, at) => [`CS${at}`, at * 8])),
  ...Object.fromEntries(
    [1, 2, 3, 4].flatMap((group) =>
      [1, 2, 3].map((drop) => [`AF${group}${drop}`, group * 8 + drop * 2]),
    ),
  ),
};

export const dscp = (value: string): Negatable<{ value: number }> | undefined => {
  const read = negatable(value);
  const number = read && (own(DSCP, read.rest.toUpperCase()) ?? integer(read.rest));
  return read && number !== undefined && number >= 0 && number <= 0x3f
    ? { negated: read.negated, value: number }
    : undefined;
};

/**
 * The name of a set. Which of the packet's values are looked up does not matter, as its members are
 * not known.
 */
export const setMatch = (value: string): Negatable<{ name: string }> | undefined => {
  const read = negatable(value);
  const [name] = read?.rest.split(/[ \t]+/) ?? [];
  return read && name !== undefined ? { negated: read.negated, name } : undefined;
};

export type AddressGroup = Negatable<{ addresses: readonly AddressMatch[] }>;

/** Addresses, networks, ranges, masks, and names of networks, which stand for their subnets. */
export const network =
  (networks: ReadonlyMap<string, NetworkState>) =>
  (value: string): AddressGroup | undefined => {
    const read = negatable(value);
    const addresses = read && subnet(read.rest, networks);
    return addresses && { negated: read.negated, addresses };
  };

const subnet = (
  value: string,
  networks: ReadonlyMap<string, NetworkState>,
): readonly AddressMatch[] | undefined => {
  const [address = '', mask, ...more] = value.split('/');
  if (more.length > 0) return undefined;
  if (mask !== undefined) {
    const one = masked(address, mask);
    return one && [one];
  }
  return unmasked(value) ?? networks.get(value)?.addresses.map((prefix) => ofPrefix(prefix));
};

const unmasked = (value: string): readonly AddressMatch[] | undefined => {
  const [low = '', high, ...others] = value.split('-');
  const version = familyOf(low);
  if (high !== undefined && others.length === 0 && version && version === familyOf(high))
    return [{ family: version, range: { low: numberOf(low), high: numberOf(high) } }];
  if (version && high === undefined) return [whole(version, numberOf(low))];
  return undefined;
};

const whole = (version: Family, address: bigint): AddressMatch =>
  ofPrefix({ family: version, address, bits: sizeOf(version) });

export const ofPrefix = (prefix: Prefix): AddressMatch => ({
  family: prefix.family,
  range: prefixRange(prefix),
  prefix,
});

/** By prefix length, by mask, or by a negative length, which takes the last bits. */
const masked = (text: string, mask: string): AddressMatch | undefined => {
  const version = familyOf(text);
  if (version === undefined) return undefined;
  const address = numberOf(text);
  const size = sizeOf(version);
  const all = (1n << BigInt(size)) - 1n;
  if (familyOf(mask) !== undefined) {
    if (familyOf(mask) !== version) return undefined;
    const bits = bitsOf(numberOf(mask), size);
    if (bits !== undefined) return ofPrefix({ family: version, address, bits });
    return gapped(version, numberOf(mask), address & numberOf(mask));
  }
  const bits = integer(mask);
  if (bits === undefined || bits > size) return undefined;
  if (bits >= 0) return ofPrefix({ family: version, address, bits });
  return gapped(version, all >> BigInt(Math.min(-bits, size)), address);
};

const gapped = (version: Family, mask: bigint, value: bigint): AddressMatch => ({
  family: version,
  mask,
  range: { low: value, high: value },
});

/** Undefined for a mask with gaps. */
const bitsOf = (mask: bigint, size: number): number | undefined => {
  const text = mask.toString(2).padStart(size, '0');
  return /^1*0*$/.test(text) ? text.replaceAll('0', '').length : undefined;
};
