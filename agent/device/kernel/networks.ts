/** Addresses and networks in one form, whoever has written them: `ip`, UCI or a rule. */
import { isIPv4, isIPv6 } from 'node:net';

/** Less the bits of hosts, which netifd and the kernel leave out. Undefined for what is no network. */
export const networkOf = (text: string): string | undefined => {
  const [address = '', length] = text.split('/');
  const size = isIPv4(address) ? 32 : isIPv6(address) ? 128 : undefined;
  if (size === undefined) return undefined;
  const bits = length === undefined ? size : Number(length);
  const host = BigInt(size - bits);
  return `${(numberOf(address) >> host) << host}/${bits} of ${size}`;
};

const numberOf = (address: string): bigint =>
  isIPv4(address)
    ? joined(address.split('.').map(Number), 8n)
    : joined(
        groupsOf(address).map((group) => Number.parseInt(group, 16)),
        16n,
      );

const joined = (parts: readonly number[], bits: bigint): bigint =>
  parts.reduce((sum, part) => (sum << bits) + BigInt(part), 0n);

/** All eight groups: a URL's host is in the shortest form, without an IPv4 address at its end. */
const groupsOf = (address: string): readonly string[] => {
  const shortest = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [head, tail] = shortest.split('::').map((half) => (half === '' ? [] : half.split(':')));
  if (head === undefined || tail === undefined) return head ?? [];
  return [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => '0'), ...tail];
};
