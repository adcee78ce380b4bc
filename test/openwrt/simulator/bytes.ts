/**
 * Bytes as text. OpenWRT's programs work on bytes, not characters: a `dd` that cuts through a UTF-8
 * character must give exactly those bytes. So everything inside the simulator is a *byte string*:
 * one character per byte, 0x00 to 0xff. Only the edges (HTTP bodies, the control API, options given
 * by tests) convert.
 */
import { readFileSync, writeFileSync } from 'node:fs';

/** UTF-8 text to the byte string that a file of it holds. */
export const toBytes = (text: string): string =>
  isAscii(text) ? text : Buffer.from(text, 'utf8').toString('latin1');

/** A byte string to text; bytes that are no UTF-8 become U+FFFD. */
export const toText = (bytes: string): string =>
  isAscii(bytes) ? bytes : Buffer.from(bytes, 'latin1').toString('utf8');

export const readBytes = (path: string): string => readFileSync(path, 'latin1');

export const writeBytes = (path: string, bytes: string): void =>
  writeFileSync(path, bytes, 'latin1');

// eslint-disable-next-line no-control-regex -- the whole of ASCII is meant
const isAscii = (text: string): boolean => /^[\x00-\x7f]*$/.test(text);
