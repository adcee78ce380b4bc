/**
 * Addresses, networks and numbers in one form, whatever has written them: `ip`, UCI or a rule.
 * Options are read as netifd reads them (utils.c: `parse_netmask_string`, `parse_ip_and_netmask`;
 * `strtoul` with base 0, so that `010` is 8). Total: what is none is undefined.
 */
import { familyOf, numberOf } from '#shared/util/addresses.ts';

const MAX_U32 = 0xff_ff_ff_ff;

/** A whole number from 0 to 2³² - 1 as in C: decimal, `0x` or, after a leading 0, octal. */
export const cNumber = (text: string): number | undefined => {
  const [, hex, octal, decimal] =
    /^[ \t]*\+?(?:0[xX]([0-9a-fA-F]+)|0([0-7]*)|([1-9][0-9]*))$/.exec(text) ?? [];
  const value =
    decimal !== undefined
      ? Number(decimal)
      : hex !== undefined
        ? Number.parseInt(hex, 16)
        : octal !== undefined
          ? Number.parseInt(octal || '0', 8)
          : undefined;
  return value === undefined || value > MAX_U32 ? undefined : value;
};

/** Less the bits of hosts, as for netifd and the kernel. Undefined: netifd refuses it. */
export const networkOf = (text: string): string | undefined => {
  const [address = '', mask, ...rest] = text.split('/');
  const family = familyOf(address);
  if (family === undefined || rest.length > 0) return undefined;
  const size = family === 4 ? 32 : 128;
  const bits = mask === undefined ? size : bitsOf(mask, family);
  if (bits === undefined || bits > size) return undefined;
  const host = BigInt(size - bits);
  return `${(numberOf(address) >> host) << host}/${bits} of ${size}`;
};

/** netifd takes the ones before the first 0 of a mask with a gap. */
const bitsOf = (mask: string, family: 4 | 6): number | undefined => {
  if (!mask.includes('.')) return cNumber(mask);
  const dotted = family === 4 ? dottedNumber(mask) : undefined;
  return dotted === undefined ? undefined : Math.clz32(~dotted);
};

/** As `inet_aton` reads it: the last of fewer than four parts fills the rest. */
const dottedNumber = (text: string): number | undefined => {
  const parts = text.split('.').map(cNumber);
  const last = parts.pop();
  const bits = 8 * (4 - parts.length);
  if (parts.length > 3 || last === undefined || last >= 2 ** bits) return undefined;
  let value = 0;
  for (const part of parts) {
    if (part === undefined || part > 255) return undefined;
    value = value * 256 + part;
  }
  return value * 2 ** bits + last;
};
