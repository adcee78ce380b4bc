/** Addresses and networks in one form, whoever has written them: `ip`, UCI or a rule. */
import { familyOf, numberOf } from '#shared/runtime/addresses.ts';

/** Less the bits of hosts, which netifd and the kernel leave out. Undefined for what is no network. */
export const networkOf = (text: string): string | undefined => {
  const [address = '', length] = text.split('/');
  const family = familyOf(address);
  if (family === undefined) return undefined;
  const size = family === 4 ? 32 : 128;
  const bits = length === undefined ? size : Number(length);
  const host = BigInt(size - bits);
  return `${(numberOf(address) >> host) << host}/${bits} of ${size}`;
};
