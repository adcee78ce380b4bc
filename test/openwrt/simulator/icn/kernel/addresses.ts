/** IPv4 addresses as numbers, read the way iptables and ip read them. */

/** A leading zero makes a part octal. Undefined for what is no address. */
export const parseAddress = (text: string): number | undefined => {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => /^\d+$/.test(part))) return undefined;
  const numbers = parts.map((part) => Number.parseInt(part, part.startsWith('0') ? 8 : 10) || 0);
  if (numbers.some((number) => number > 255)) return undefined;
  return numbers.reduce((sum, number) => sum * 256 + number, 0);
};

export const formatAddress = (address: number): string =>
  [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join('.');

export type Prefix = { address: number; bits: number };

export const parsePrefix = (text: string): Prefix | undefined => {
  const [base = '', mask = '32', ...rest] = text.split('/');
  const address = parseAddress(base);
  const bits = Number(mask);
  if (address === undefined || rest.length > 0 || !Number.isInteger(bits) || bits > 32)
    return undefined;
  return { address, bits };
};

export const networkOf = ({ address, bits }: Prefix): Prefix => ({
  address: bits === 0 ? 0 : (address & (-1 << (32 - bits))) >>> 0,
  bits,
});

export const contains = (network: Prefix, address: number): boolean =>
  networkOf({ address, bits: network.bits }).address === networkOf(network).address;
