/**
 * Password checks of rpcd: SHA-2 hashes of crypt(3), and `$sha256$<hex>`, which stands for all
 * others in the simulator's own factory.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { verify } from 'unixcrypt';
import { readBytes } from '../bytes.ts';

/** `password` is a byte string. */
export const hashPassword = (password: string): string =>
  `$sha256$${createHash('sha256').update(password, 'latin1').digest('hex')}`;

/**
 * `stored` is the option of the login section: a hash, `$p$<user>` for the entry in /etc/shadow, or
 * '' for any password.
 */
export const passwordMatches = (stored: string, password: string, shadowPath: string): boolean => {
  if (stored === '') return true;
  if (/^\$[56]\$/.test(stored)) return verify(password, stored);
  if (!stored.startsWith('$p$')) return stored === hashPassword(password);
  const entry = shadowEntry(shadowPath, stored.slice(3));
  return entry !== undefined && passwordMatches(entry, password, shadowPath);
};

const shadowEntry = (path: string, user: string): string | undefined =>
  existsSync(path)
    ? readBytes(path)
        .split('\n')
        .map((line) => line.split(':'))
        .find(([name]) => name === user)?.[1]
    : undefined;
