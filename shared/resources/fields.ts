/**
 * The kinds of values that rule specs are made of: addresses, ports, marks, names. None has control
 * characters, so each fits a UCI option.
 */
import { isIP, isIPv4 } from 'node:net';
import { within } from '../util/addresses.ts';
import { optionalText, optionalTextOrNumber, text, textOrNumber } from './schema.ts';
import type { TextRule } from './schema.ts';

/** Longest list that a spec may hold: it bounds CEL's cost, and a section stays readable. */
export const MAX_ITEMS = 64;
const MAX_LIST_TEXT = 1_024;

/** One or several of `item`, separated by blanks or commas. */
const severalOf = (item: string): string => `(${item})([ ,]+(${item}))*`;

/** The parts of a value that `severalOf` describes. */
export const parts = (value: string): string[] => value.split(/[ ,]+/);

const every =
  (holds: (item: string) => boolean) =>
  (value: string): boolean =>
    parts(value).every((item) => holds(item.replace(/^!/, '')));

/**
 * Digits without leading zeros: netifd makes 8 of 010, firewall4 and strongSwan make 10, so each
 * such text would mean two things.
 */
export const digits = (most: number): string => `(0|[1-9][0-9]{0,${most - 1}})`;
export const NO_ZEROS = 'without leading zeros';

const ADDRESS = '[0-9a-fA-F:.]+';
const PREFIX = digits(3);
const NETWORK = `${ADDRESS}(/(${PREFIX}|[0-9.]{7,15}))?`;

const isNetwork = (value: string): boolean => {
  const [address = '', mask] = value.split('/');
  const version = isIP(address);
  if (version === 0) return false;
  if (mask === undefined) return true;
  if (mask.includes('.')) return version === 4 && isIPv4(mask);
  return /^\d{1,3}$/.test(mask) && Number(mask) <= (version === 4 ? 32 : 128);
};

/** One address, or a network with prefix length or IPv4 mask. */
export const network = () =>
  optionalText({
    must: 'must be an IPv4 or IPv6 address, or a network such as 192.168.1.0/24 or 2001:db8::/32',
    maxLength: 80,
    pattern: NETWORK,
    holds: isNetwork,
  });

/** As `network`, and may be negated. */
export const negatableNetwork = () =>
  optionalText({
    must: 'must be an IPv4 or IPv6 address or a network such as 192.168.1.0/24, with "!" in front to negate it',
    maxLength: 80,
    pattern: `!?${NETWORK}`,
    holds: every(isNetwork),
  });

export const networks = () =>
  optionalText({
    must: 'must be IPv4 or IPv6 addresses or networks such as 192.168.1.0/24, separated by blanks, each with "!" in front to negate it',
    maxLength: MAX_LIST_TEXT,
    pattern: severalOf(`!?${NETWORK}`),
    holds: every(isNetwork),
  });

/** As `network`, without an IPv4 mask: as routes take it. */
export const plainNetwork = () =>
  optionalText({
    must: 'must be an IPv4 or IPv6 address, or a network such as 192.168.1.0/24 or 2001:db8::/32',
    maxLength: 80,
    pattern: `${ADDRESS}(/${PREFIX})?`,
    holds: isNetwork,
  });

/** As `networks`, without negation. */
export const plainNetworks = () =>
  optionalText({
    must: 'must be IPv4 or IPv6 addresses or networks such as 192.168.1.0/24, separated by commas; a mask has no gaps',
    maxLength: MAX_LIST_TEXT,
    pattern: severalOf(NETWORK),
    holds: every((item) => isRouted(item)),
  });

/** The networks of a text, with prefix lengths: of a mask strongSwan makes /32. */
export const withPrefixes = (value: string): string[] =>
  parts(value).map((item) => {
    const [address = '', mask = ''] = item.split('/');
    return mask.includes('.') ? `${address}/${bitsOf(mask).replaceAll('0', '').length}` : item;
  });

/** An item of a list of networks. */
export const networkItem = () =>
  text({
    must: 'must be an IPv4 or IPv6 address or a network such as 192.168.1.0/24, with "!" in front to negate it',
    maxLength: 80,
    pattern: `!?${NETWORK}`,
    holds: every(isNetwork),
  });

/** One address without mask. */
export const address = () =>
  optionalText({
    must: 'must be an IPv4 or IPv6 address without a mask, such as 192.168.1.1',
    maxLength: 45,
    pattern: ADDRESS,
    holds: (value) => isIP(value) !== 0,
  });

/** What no interface has, or shares: this host, loopback, multicast, reserved, IPv4 inside IPv6. */
const isUnfit = {
  ipv4: within(['0.0.0.0/8', '127.0.0.0/8', '224.0.0.0/3']),
  ipv6: within(['::/127', '::ffff:0:0/96', 'ff00::/8']),
};

/** An item of a list: an address as an interface has it. */
export const interfaceAddress = () =>
  text({
    must: 'must be an IPv4 or IPv6 address that an interface can have, alone or with its prefix length, such as 192.168.1.1/24',
    maxLength: 49,
    pattern: `${ADDRESS}(/${PREFIX})?`,
    holds: (value) => {
      const [address = '', prefix] = value.split('/');
      const family = isIPv4(address) ? 'ipv4' : 'ipv6';
      return isNetwork(value) && Number(prefix ?? 1) > 0 && !isUnfit[family](address);
    },
  });

/** netifd takes the ones before the gap of a mask that has one. */
const isRouted = (value: string): boolean =>
  isNetwork(value) && !/0[^/]*1/.test(bitsOf(value.split('/')[1]));
const bitsOf = (mask = ''): string =>
  mask.includes('.')
    ? mask.replaceAll(/\d+\.?/g, (part) => Number.parseInt(part, 10).toString(2).padStart(8, '0'))
    : '';

/** As `network`, for routes and their rules. */
export const routedNetwork = () =>
  optionalText({
    must: 'must be an IPv4 or IPv6 address, or a network such as 192.168.1.0/24 or 2001:db8::/32; a mask has no gaps',
    maxLength: 80,
    pattern: NETWORK,
    holds: isRouted,
  });

/** Where a route leads. */
export const destination = () =>
  text({
    must: 'must be default, an IPv4 or IPv6 address, or a network such as 192.168.1.0/24; a mask has no gaps',
    maxLength: 80,
    pattern: `default|${NETWORK}`,
    holds: (value) => value === 'default' || isRouted(value),
  });

export const MAX_PORT = 65_535;
const PORT = `${digits(5)}([-:]${digits(5)})?`;

const isPort = (value: string): boolean => {
  const [low = 0, high = low] = value.split(/[-:]/).map(Number);
  return low >= 1 && low <= high && high <= MAX_PORT;
};

/** One port or range. */
export const port = () =>
  optionalTextOrNumber({
    must: `must be a port from 1 to 65535 or a range such as 8000-8100, ${NO_ZEROS}`,
    maxLength: 12,
    pattern: PORT,
    holds: isPort,
    min: 1,
    max: MAX_PORT,
    examples: [443, '8000-8100'],
  });

/** One port, which has to be there: no blank, no range. */
export const onePort = () =>
  textOrNumber({
    must: `must be a port from 1 to ${MAX_PORT}, ${NO_ZEROS}`,
    maxLength: 5,
    pattern: digits(5),
    holds: isPort,
    min: 1,
    max: MAX_PORT,
    examples: [443],
  });

/** As `port`, and may be negated. */
export const negatablePort = () =>
  optionalTextOrNumber({
    must: `must be a port from 1 to 65535 or a range such as 8000-8100, ${NO_ZEROS}, with "!" in front to negate it`,
    maxLength: 12,
    pattern: `!?${PORT}`,
    holds: every(isPort),
    min: 1,
    max: MAX_PORT,
    examples: [443, '!8000-8100'],
  });

export const ports = () =>
  optionalTextOrNumber({
    must: `must be ports from 1 to 65535 or ranges such as 8000-8100, ${NO_ZEROS}, separated by blanks, each with "!" in front to negate it`,
    maxLength: MAX_LIST_TEXT,
    pattern: severalOf(`!?${PORT}`),
    holds: every(isPort),
    min: 1,
    max: MAX_PORT,
    examples: [443, '80 8000-8100', '!22'],
  });

/** iptables' multiport takes 15 ports, or refuses the whole table (measured); a range is two. */
const MULTIPORT = 15;
const isMultiport = (value: string): boolean =>
  parts(value).flatMap((item) => item.split(/[-:]/)).length <= MULTIPORT;

/** As `ports`, without negation, as iptables' multiport takes them. */
export const multiports = () =>
  optionalTextOrNumber({
    must: `must be ports from 1 to 65535 or ranges such as 8000-8100, ${NO_ZEROS}, separated by blanks or commas: at most ${MULTIPORT}, where a range counts as two`,
    maxLength: MAX_LIST_TEXT,
    pattern: severalOf(PORT),
    holds: (value) => every(isPort)(value) && isMultiport(value),
    min: 1,
    max: MAX_PORT,
    examples: [443, '80 8000-8100'],
  });

export const macs = () =>
  optionalText({
    must: 'must be MAC addresses such as 00:11:22:aa:bb:cc, separated by blanks, each with "!" in front to negate it',
    maxLength: MAX_LIST_TEXT,
    pattern: severalOf('!?([0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}'),
  });

const PROTOCOL_NAMES = 'tcp|udp|tcpudp|udplite|icmp|icmpv6|ipv6-icmp|esp|ah|sctp|gre|igmp|all|any';

/** Several protocols, as OpenWRT's firewall takes them. */
export const protocols = () =>
  optionalTextOrNumber({
    must: `must be protocols (${PROTOCOL_NAMES.replaceAll('|', ', ')}) or their numbers ${NO_ZEROS}, separated by blanks, each with "!" in front to negate it`,
    maxLength: 128,
    pattern: severalOf(`!?(${PROTOCOL_NAMES}|${digits(3)})`),
    holds: every((item) => !/^\d+$/.test(item) || Number(item) <= 255),
    min: 0,
    max: 255,
    examples: ['tcp udp', 47],
  });

const MARK_HALF = `(0x[0-9a-fA-F]{1,8}|${digits(10)})`;
const MARK = `${MARK_HALF}(/${MARK_HALF})?`;
const MAX_MARK = 0xffff_ffff;

const isMark = (value: string): boolean =>
  value.split('/').every((half) => Number(half) <= MAX_MARK);

/** A packet mark to match. */
export const markMatch = () =>
  optionalTextOrNumber({
    must: `must be a mark such as 0x10 or 16, ${NO_ZEROS}, with a mask as in 0x10/0xff, and "!" in front to negate it`,
    maxLength: 24,
    pattern: `!?${MARK}`,
    holds: every(isMark),
    min: 0,
    max: MAX_MARK,
    examples: ['0x10/0xff', 16],
  });

/** A packet mark to set. */
export const mark = () =>
  optionalTextOrNumber({
    must: `must be a mark such as 0x10 or 16, ${NO_ZEROS}, with a mask as in 0x10/0xff`,
    maxLength: 24,
    pattern: MARK,
    holds: isMark,
    min: 0,
    max: MAX_MARK,
    examples: ['0x10/0xff', 16],
  });

/** A switch of UCI: 0 or 1, as number or text. */
export const flag = () =>
  optionalTextOrNumber({
    must: 'must be 0 or 1',
    // The API server says of a longer text only that it is too long.
    maxLength: 8,
    pattern: '[01]',
    min: 0,
    max: 1,
    examples: [1],
  });

/** A whole number as digits, or as a number. */
export const count = (min: number, max: number) =>
  optionalTextOrNumber({
    must: `must be a whole number from ${min} to ${max}, ${NO_ZEROS}`,
    maxLength: 10,
    pattern: digits(10),
    holds: (value) => Number(value) >= min && Number(value) <= max,
    min,
    max,
    examples: [Math.min(Math.max(min, 10), max)],
  });

/** The name of another CR, or that name as OpenWRT holds it. */
export const NAME_PATTERN = '[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?';
const nameRule = (what: string, pattern = NAME_PATTERN): TextRule => ({
  must: `must be the name of ${what}`,
  maxLength: 253,
  pattern,
});
/** Nodus: a name. Multus: `name` or `namespace/name`, with `@interface` if the pod has two. */
const networkRule: TextRule = {
  must: 'must be the name of a network of the CNF pod: name, namespace/name or name@interface',
  maxLength: 333,
  pattern: `([a-z0-9]([a-z0-9-]*[a-z0-9])?/)?${NAME_PATTERN}(@[A-Za-z0-9_.-]{1,15})?`,
};
/** An item of a list of networks by name. */
export const networkName = () => text(networkRule);
export const optionalNetworkName = () => optionalText(networkRule);
const anyRule = (what: string): TextRule => ({
  ...nameRule(what, `${NAME_PATTERN}|[*]`),
  must: `must be the name of ${what}, or * for any`,
});
export const reference = (what: string) => text(nameRule(what));
export const optionalReference = (what: string) => optionalText(nameRule(what));
/** As `reference`, or `*` for any. */
export const referenceOrAny = (what: string) => text(anyRule(what));
export const optionalReferenceOrAny = (what: string) => optionalText(anyRule(what));

/** Free text for an option that OpenWRT itself interprets. No control characters. */
export const freeText = (maxLength: number) =>
  optionalText({
    must: 'must not have control characters',
    maxLength,
    pattern: '[^\\x00-\\x1f\\x7f]*',
    holds: (value) => value.isWellFormed(),
  });

/** Kept so that CRs which ICN's controller has written back are still accepted whole. */
export const ignored = () => freeText(253).describe("Ignored; ICN's controller writes it.");
