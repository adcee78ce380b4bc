/** IP addresses as numbers, and back; and which are in networks. */
import { BlockList, isIPv4, isIPv6 } from 'node:net';

/** @param address one that `isIP` takes */
export const numberOf = (address: string): bigint =>
  isIPv4(address)
    ? joined(address.split('.').map(Number), 8n)
    : joined(
        groupsOf(address).map((group) => Number.parseInt(group, 16)),
        16n,
      );

/** The inverse, in the shortest form: as RFC 5952 writes it, all in hexadecimal. */
export const addressOf = (number: bigint, family: 4 | 6): string => {
  if (family === 4) return split(number, 4, 8n).join('.');
  const groups = split(number, 8, 16n).map((group) => group.toString(16));
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
};

/** Undefined when it is no address; one with a zone is none. */
export const familyOf = (text: string): 4 | 6 | undefined =>
  isIPv4(text) ? 4 : isIPv6(text) && !text.includes('%') ? 6 : undefined;

/** @param networks each an address and the length of its prefix, such as `10.0.0.0/8` */
export const within = (networks: readonly string[]): ((address: string) => boolean) => {
  const block = new BlockList();
  for (const network of networks) {
    const [base = '', length] = network.split('/');
    block.addSubnet(base, Number(length), typeOf(base));
  }
  return (address) => block.check(address, typeOf(address));
};

const typeOf = (address: string): 'ipv4' | 'ipv6' => (isIPv6(address) ? 'ipv6' : 'ipv4');

const joined = (parts: readonly number[], bits: bigint): bigint =>
  parts.reduce((sum, part) => (sum << bits) + BigInt(part), 0n);

const split = (number: bigint, count: number, bits: bigint): bigint[] =>
  Array.from(
    { length: count },
    (_, at) => (number >> (bits * BigInt(count - 1 - at))) & ((1n << bits) - 1n),
  );

/** All eight groups: a URL's host is in the shortest form, without an IPv4 address at its end. */
const groupsOf = (address: string): readonly string[] => {
  const shortest = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [head, tail] = shortest.split('::').map((half) => (half === '' ? [] : half.split(':')));
  if (head === undefined || tail === undefined) return head ?? [];
  return [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => '0'), ...tail];
};
