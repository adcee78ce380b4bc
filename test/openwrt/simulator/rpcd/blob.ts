/**
 * The size of a ubus message as libubox packs it: what counts for the limit at which ubusd drops
 * rpcd.
 */
import type { Json } from '../json.ts';

/** ubusd's limit of one message; rpcd is disconnected, and ends, when it sends a longer one. */
export const MAX_MESSAGE_BYTES = 1024 * 1024;

/**
 * Bytes of a value with its name: a header of 4, the name with its length and NUL padded to 4, the
 * data padded to 4.
 */
export const blobBytes = (name: string, value: Json): number =>
  4 + padded(2 + name.length + 1) + padded(dataBytes(value));

const dataBytes = (value: Json): number => {
  if (typeof value === 'string') return value.length + 1;
  if (typeof value === 'number') return Number.isInteger(value) && value === (value | 0) ? 4 : 8;
  if (typeof value === 'boolean') return 1;
  if (value === null) return 0;
  if (Array.isArray(value))
    return value.reduce((sum: number, item: Json) => sum + blobBytes('', item), 0);
  return Object.entries(value).reduce((sum, [name, item]) => sum + blobBytes(name, item), 0);
};

const padded = (bytes: number): number => (bytes + 3) & ~3;
