/** Where OpenWRT is, and the login there. Files are read at each login: passwords can rotate. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { OpenwrtUnreachableError } from '../../driver.ts';

export type OpenwrtTarget = {
  /** The URL of the web server, e.g. `http://127.0.0.1:80`. */
  url: string;
  usernameFile: string;
  passwordFile: string;
  /** PEM of the CA that signed OpenWRT's certificate; only with https. */
  caFile?: string | undefined;
  /** Name in that certificate, where it differs from the URL's host. */
  serverName?: string | undefined;
};

/** ICN's Secrets hold root's password and no name. */
export const readUsername = async (path: string): Promise<string> =>
  existsSync(path) ? readText(path) : 'root';

/** Less the newline at the end. @throws OpenwrtUnreachableError */
export const readText = async (path: string): Promise<string> => {
  try {
    return (await readFile(path, 'utf8')).replace(/\r?\n$/, '');
  } catch (error) {
    throw new OpenwrtUnreachableError('log in to OpenWRT', `cannot read ${path}`, error);
  }
};
