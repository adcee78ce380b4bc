/**
 * Which addresses a node takes: a free block of 1,024, cut into its link to this machine, its pods
 * and its Services.
 */

/** Private ranges that are seldom routed; 256 blocks in the first, 256 in the second. */
const POOLS = ['10.200.0.0', '172.24.0.0'];
const BLOCK_SIZE = 1024;
const BLOCKS_PER_POOL = 256;
/** A route to this much or more is a way out, not a neighbour: blocks inside it may be taken. */
const BROAD_PREFIX = 12;

export type Subnets = {
  /** This machine's end of the link; pods reach it. */
  hostAddress: string;
  /** The node's end. */
  nodeAddress: string;
  /** Prefix length of the link. */
  linkPrefix: 30;
  pods: string;
  /** The bridge's address: the pods' gateway and name server. */
  gateway: string;
  gatewayPrefix: 24;
  services: string;
};

/**
 * Blocks that overlap nothing of `taken` (addresses in CIDR form), in the order in which to try
 * them.
 */
export const freeBlocks = (taken: readonly string[]): number[] => {
  const ranges = taken.map(toRange).filter((range) => range !== undefined);
  return Array.from({ length: POOLS.length * BLOCKS_PER_POOL }, (_, block) => block).filter(
    (block) => {
      const first = blockStart(block);
      const last = first + BLOCK_SIZE - 1;
      return ranges.every((range) => range.last < first || range.first > last);
    },
  );
};

export const subnetsOf = (block: number): Subnets => {
  const address = (offset: number) => format(blockStart(block) + offset);
  return {
    hostAddress: address(1),
    nodeAddress: address(2),
    linkPrefix: 30,
    pods: `${address(256)}/24`,
    gateway: address(257),
    gatewayPrefix: 24,
    services: `${address(512)}/23`,
  };
};

const blockStart = (block: number): number => {
  const pool = POOLS[Math.floor(block / BLOCKS_PER_POOL)];
  if (pool === undefined) throw new RangeError(`there is no block ${block}`);
  return parse(pool) + (block % BLOCKS_PER_POOL) * BLOCK_SIZE;
};

/** Undefined for what is no IPv4 network, and for routes so broad that everything is in them. */
const toRange = (cidr: string): { first: number; last: number } | undefined => {
  const [address = '', length = '32'] = cidr.split('/');
  if (!/^\d+\.\d+\.\d+\.\d+$/.test(address) || Number(length) < BROAD_PREFIX) return undefined;
  const size = 2 ** (32 - Number(length));
  const first = Math.floor(parse(address) / size) * size;
  return { first, last: first + size - 1 };
};

const parse = (address: string): number =>
  address.split('.').reduce((value, part) => value * 256 + Number(part), 0);

const format = (value: number): string =>
  [24, 16, 8, 0].map((bits) => Math.floor(value / 2 ** bits) % 256).join('.');
