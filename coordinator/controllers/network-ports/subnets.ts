/**
 * The addresses of a ManagedNetwork by their index: the offset from the first address of each
 * subnet. Both families share it, so that one claim arbitrates both. Pure.
 */
import { createHash, randomBytes } from 'node:crypto';
import {
  addressText,
  blockOfOne,
  holdsBlock,
  parseAddress,
  parseBlock,
  WIDTH,
  withoutLength,
  type Address,
  type Block,
} from '#shared/policy/address-blocks.ts';
import {
  MAX_ADDRESSES,
  type ManagedNetworkSpec,
} from '#shared/resources/other-kinds/managed-network.ts';
import type { NetworkPortSpec } from '#shared/resources/other-kinds/network-port.ts';

type Subnet = NonNullable<ManagedNetworkSpec['subnets']>[number];
type Span = readonly [first: number, last: number];
type ReadSubnet = { block: Block; spans: readonly Span[]; skipped: readonly number[] };

export type PlannedSubnet = {
  id: string;
  cidr: string;
  block: Block;
  gateway: string | undefined;
  pools: readonly { start: string; end: string }[];
  /** Addresses follow from MACs, and none can be asked for. */
  isSlaac: boolean;
};

export type NeutronPlan = {
  network: string;
  mtu: number | undefined;
  /** As the blocks of the plan are. */
  subnets: readonly PlannedSubnet[];
};

export type Plan = {
  blocks: readonly Block[];
  /** Those that can be given, ascending. */
  indexes: readonly number[];
  /** As people wrote it. */
  range: string;
  /** Neutron gives the addresses, and they have no indexes. */
  neutron?: NeutronPlan;
};
/** `reason`: in CamelCase; default: its spec is wrong. */
export type Unplanned = { problem: string; reason?: string };
/** What Neutron has of the network is not known, which says nothing of it. */
export const NOT_ASKED = 'NeutronUnavailable';

/** Names of NetworkPorts end in it. */
const MAX_INDEX = 2 ** 32 - 1;

/** What a network can give; `problem` names what is wrong with its spec, with both values. */
export const planOf = ({ subnets = [] }: ManagedNetworkSpec): Plan | Unplanned => {
  const read: ReadSubnet[] = [];
  for (const [at, subnet] of subnets.entries()) {
    const one = readSubnet(subnet);
    if ('problem' in one) return { problem: `spec.subnets[${at}]${one.problem}` };
    read.push(one);
  }
  const [first, second] = read;
  if (first === undefined) return { problem: 'spec.subnets: must have one' };
  const differ = second && differenceOf(subnets, first, second);
  if (differ !== undefined) return { problem: `spec.subnets: ${differ}` };
  const size = first.spans.reduce((sum, [from, to]) => sum + to - from + 1, 0);
  if (size > MAX_ADDRESSES)
    return { problem: `spec.subnets: must have at most ${MAX_ADDRESSES} addresses, has ${size}` };
  const skipped = new Set(read.flatMap((one) => one.skipped));
  const indexes = first.spans.flatMap(([from, to]) =>
    Array.from({ length: to - from + 1 }, (_, at) => from + at),
  );
  return {
    blocks: read.map(({ block }) => block),
    indexes: indexes.filter((index) => !skipped.has(index)),
    range: subnets.map(({ ranges }) => ranges.join(', ')).join(' and '),
  };
};

const differenceOf = (
  subnets: readonly Subnet[],
  first: ReadSubnet,
  second: ReadSubnet,
): string | undefined => {
  const [one, other] = subnets.map(({ cidr }) => cidr);
  if (first.block.family === second.block.family)
    return `must be of two families, ${one} and ${other} are of one`;
  const [offsets, others] = [textOf(first.spans), textOf(second.spans)];
  return offsets === others
    ? undefined
    : `ranges must have equal offsets in both subnets, those of ${one} are ${offsets}, those of ${other} ${others}`;
};

const readSubnet = ({
  cidr,
  gateway,
  ranges,
  excluded = [],
}: Subnet): ReadSubnet | { problem: string } => {
  const block = parseBlock(cidr);
  if (block === undefined) return { problem: `.cidr: ${cidr} is no block of addresses` };
  const spans: Span[] = [];
  for (const range of ranges) {
    const span = spanOf(range, block);
    if (span === undefined)
      return { problem: `.ranges: ${range} must be addresses of ${cidr}, the first one first` };
    spans.push(span);
  }
  const merged = mergedOf(spans);
  if (merged === undefined) return { problem: `.ranges: ${ranges.join(', ')} overlap` };
  const gate = gatewayIn(block, gateway, { cidr, ranges, spans });
  if (typeof gate === 'string') return { problem: `.gateway: ${gate}` };
  const skipped = [...edgesOf(block), ...(gate === undefined ? [] : [gate])];
  for (const text of excluded) {
    const index = indexIn(block, text);
    if (index === undefined) return { problem: `.excluded: ${text} must be an address of ${cidr}` };
    skipped.push(index);
  }
  return { block, spans: merged, skipped };
};

/** Text: what is wrong with it. */
const gatewayIn = (
  block: Block,
  gateway: string | undefined,
  { cidr, ranges, spans }: Pick<Subnet, 'cidr' | 'ranges'> & { spans: readonly Span[] },
): number | string | undefined => {
  if (gateway === undefined) return undefined;
  const index = indexIn(block, gateway);
  if (index === undefined) return `${gateway} must be an address of ${cidr}`;
  const around = ranges[spans.findIndex(([from, to]) => from <= index && index <= to)];
  return around === undefined ? index : `${gateway} must not be in a range, it is in ${around}`;
};

const spanOf = (range: string, block: Block): Span | undefined => {
  const [from = '', to = from] = range.split('-');
  const first = indexIn(block, from);
  const last = indexIn(block, to);
  return first === undefined || last === undefined || last < first ? undefined : [first, last];
};

/** Ascending, neighbours as one; undefined when two overlap. */
const mergedOf = (spans: readonly Span[]): Span[] | undefined => {
  const merged: Span[] = [];
  for (const span of spans.toSorted(([one], [other]) => one - other)) {
    const before = merged.at(-1);
    if (before && span[0] <= before[1]) return undefined;
    if (before && span[0] === before[1] + 1) merged[merged.length - 1] = [before[0], span[1]];
    else merged.push(span);
  }
  return merged;
};

const textOf = (spans: readonly Span[]): string =>
  spans.map(([from, to]) => (from === to ? String(from) : `${from}-${to}`)).join(', ');

/** Point-to-point links and single addresses have neither network nor broadcast. */
const edgesOf = ({ family, length }: Block): number[] => {
  const free = WIDTH[family] - length;
  if (free < 2) return [];
  return family === 4 ? [0, 2 ** free - 1] : [0];
};

const indexIn = (block: Block, text: string): number | undefined => {
  const address = parseAddress(text);
  return address && offsetOf(block, address);
};

const offsetOf = (block: Block, address: Address): number | undefined => {
  if (!holdsBlock(block, blockOfOne(address))) return undefined;
  const offset = address.bits - block.bits;
  return offset > BigInt(MAX_INDEX) ? undefined : Number(offset);
};

/** In the order of the subnets. */
export const addressesAt = ({ blocks }: Plan, index: number): string[] =>
  blocks.map((block) => addressText({ family: block.family, bits: block.bits + BigInt(index) }));

/** The addresses with the length of their subnet's prefix. */
export const withLengths = ({ blocks }: Plan, addresses: readonly string[]): string[] =>
  addresses.map((text, at) => `${text}/${blocks[at]?.length ?? 0}`);

/** Those of a network that an address is of; undefined: of none. */
export const indexOf = ({ blocks }: Plan, text: string): number | undefined => {
  const address = parseAddress(withoutLength(text));
  if (address === undefined) return undefined;
  for (const block of blocks) {
    const offset = offsetOf(block, address);
    if (offset !== undefined) return offset;
  }
  return undefined;
};

/** The one index of all these addresses, which an annotation fixes or a pod has. */
export const commonIndexOf = (
  plan: Plan,
  texts: readonly string[],
): number | { problem: string } => {
  const found = texts.map((text) => indexOf(plan, text));
  const outside = texts[found.indexOf(undefined)];
  if (outside !== undefined) return { problem: `${outside} is not in its subnets` };
  const [index] = found;
  if (index === undefined) return { problem: 'there is no address' };
  if (found.some((one) => one !== index))
    return { problem: `${texts.join(' and ')} have different offsets in their subnets` };
  return index;
};

/** The name of the NetworkPort, by what no two of a network have in common. */
export const portName = ({
  network,
  index,
  mac,
}: Pick<NetworkPortSpec, 'network' | 'index' | 'mac'>): string =>
  `${network}-${index ?? mac.replaceAll(':', '')}`;

/** Locally administered, and always the same for an address of a network. */
export const macAt = (networkUid: string, index: number): string => {
  const bytes = createHash('sha256').update(`${networkUid}/${index}`).digest().subarray(0, 6);
  return macOf(bytes);
};

/** Locally administered; in a network of Neutron any program chooses those of its ports. */
export const randomMac = (): string => macOf(randomBytes(6));

const macOf = (bytes: Uint8Array): string => {
  const octets = [...bytes].map((byte, at) => (at === 0 ? (byte & 0xfc) | 0x02 : byte));
  return octets.map((byte) => byte.toString(16).padStart(2, '0')).join(':');
};

/** The first of each pair of networks that share addresses or names, in words. */
export const conflictBetween = (
  one: ManagedNetworkSpec,
  other: ManagedNetworkSpec,
): string | undefined => {
  const name = one.names.find((each) => other.names.includes(each));
  if (name !== undefined) return `spec.names: ${name} is a name of it`;
  for (const { cidr } of one.subnets ?? [])
    for (const { cidr: theirs } of other.subnets ?? []) {
      const [block, another] = [parseBlock(cidr), parseBlock(theirs)];
      if (block && another && (holdsBlock(block, another) || holdsBlock(another, block)))
        return `spec.subnets: ${cidr} overlaps ${theirs} of it`;
    }
  return undefined;
};
