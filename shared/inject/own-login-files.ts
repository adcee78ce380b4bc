/**
 * The files with which the agent gives itself a login on OpenWRT, and a program that looks into its
 * kernel. It writes them before the CNF's container starts; the kubelet puts each in its place
 * there as a single file, so the image's other files stay.
 */

/** Where the agent sees all of them; the CNF sees only those of `CNF_FILES`. */
export const OWN_LOGIN_DIRECTORY = '/var/run/sdewan-own-login';
export const OWN_LOGIN_DIRECTORY_ENV = 'SDEWAN_OWN_LOGIN_DIR';

export const OWN_LOGIN_FILES = {
  acl: 'acl.json',
  helper: 'kernel.sh',
  rpcd: 'rpcd',
  username: 'username',
  password: 'password',
} as const;

/** Where rpcd starts that program; not among its plugins, which it starts by itself. */
export const KERNEL_HELPER_PATH = '/usr/share/rpcd/sdewan-kernel.sh';

/** Path in the CNF's container -> file. */
export const CNF_FILES: Readonly<Record<string, string>> = {
  '/usr/share/rpcd/acl.d/sdewan-agent.json': OWN_LOGIN_FILES.acl,
  [KERNEL_HELPER_PATH]: OWN_LOGIN_FILES.helper,
  '/etc/config/rpcd': OWN_LOGIN_FILES.rpcd,
};

/** Written last: it is there when all are. */
export const LAST_FILE = OWN_LOGIN_FILES.rpcd;
