/** Password checks of rpcd. Its crypt(3) hashes are not simulated; `$sha256$<hex>` of the simulator's own factory stands for them. */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readBytes } from '../bytes.ts';

/** `password` is a byte string. */
export const hashPassword = (password: string): string =>
  `$sha256$${createHash('sha256').update(password, 'latin1').digest('hex')}`;

/** `stored` is the option of the login section: a hash, `$p$<user>` for the entry in /etc/shadow, or '' for any password. */
export const passwordMatches = (stored: string, password: string, shadowPath: string): boolean => {
  if (stored === '') return true;
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
