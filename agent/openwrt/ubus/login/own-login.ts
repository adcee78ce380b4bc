/**
 * Makes a login of the agent's own on the OpenWRT of its pod: the rights and the login sections
 * that rpcd reads, and the program that looks into the kernel, in a volume in memory that the
 * kubelet mounts into OpenWRT's container file by file. Written once in a pod's life, before that
 * container starts; an agent that restarts finds them and keeps them, since a mounted file cannot
 * be replaced.
 */
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { encrypt } from 'unixcrypt';
import { OWN_LOGIN_FILES } from '#shared/inject/own-login-files.ts';
import { formatPackage } from '#shared/uci/format.ts';
import type { UciSection } from '#shared/uci/model.ts';
import { HELPER_SCRIPT } from '../../kernel/helper.ts';
import { ACL_GROUP, aclFor } from './acl.ts';

export type OwnLoginOptions = {
  /** The volume, as the agent sees it. */
  directory: string;
  /** Packages that the agent writes. */
  packages: readonly string[];
};

const USERNAME = 'sdewan';
/** 256 bits: rounds of hashing add nothing, so the fewest of crypt(3) spare rpcd the work. */
const PASSWORD_BYTES = 32;
const CRYPT = '$5$rounds=1000$';
/**
 * Seconds for a program that rpcd starts, the most that rpcd takes; OpenWRT's 30 are less than the
 * reload of some thousand rules on a slow CNF.
 */
const EXEC_SECONDS = '600';

const FOR_OPENWRT = 0o644;
const FOR_THE_AGENT = 0o600;
const PROGRAM = 0o755;

/** True when it made a login, false when one was there. @throws when files are not accessible */
export const ensureOwnLogin = async ({
  directory,
  packages,
}: OwnLoginOptions): Promise<boolean> => {
  const { acl, helper, password, rpcd, username } = OWN_LOGIN_FILES;
  const path = (file: string): string => join(directory, file);
  // Written last, so all others are there, too.
  if (await exists(path(rpcd))) return false;
  await mkdir(directory, { recursive: true });
  const secret = randomBytes(PASSWORD_BYTES).toString('base64url');
  await put(path(password), secret, FOR_THE_AGENT);
  await put(path(username), USERNAME, FOR_THE_AGENT);
  await put(path(acl), `${JSON.stringify(aclFor(packages), undefined, 2)}\n`, FOR_OPENWRT);
  await put(path(helper), HELPER_SCRIPT, PROGRAM);
  await put(path(rpcd), rpcdPackage(hashOf(secret)), FOR_OPENWRT);
  return true;
};

const hashOf = (secret: string): string =>
  encrypt(secret, CRYPT + randomBytes(12).toString('hex').slice(0, 16));

/** Root's login is as every image has it: the file takes the place of the image's own. */
const rpcdPackage = (hash: string): string =>
  formatPackage({
    name: 'rpcd',
    sections: [
      { ...anonymous, type: 'rpcd', options: { timeout: EXEC_SECONDS } },
      login('root', '$p$root', '*'),
      login(USERNAME, hash, ACL_GROUP),
    ],
  });

const anonymous = { name: '', anonymous: true };

const login = (username: string, password: string, group: string): UciSection => ({
  ...anonymous,
  type: 'login',
  options: { username, password, read: [group], write: [group] },
});

const exists = async (path: string): Promise<boolean> => {
  try {
    await readFile(path);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false;
    throw error;
  }
};

/** Whole or not at all. */
const put = async (path: string, text: string, mode: number): Promise<void> => {
  const temporary = `${path}.new`;
  await writeFile(temporary, text, { mode });
  await chmod(temporary, mode);
  await rename(temporary, path);
};
