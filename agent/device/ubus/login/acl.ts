/**
 * The rights of the agent's own login, as an ACL file of rpcd: exactly what the ubus driver calls, and nothing of other
 * packages. Measured on a real rpcd: with these, `uci commit`, `uci get rpcd`, /etc/shadow, `sh` and `fw4 stop` are refused.
 */
import { OWN_FILES } from '#shared/resources/device-files.ts';
import { CERTIFICATE_FOLDERS } from '#shared/resources/rules/ipsec-certificates.ts';
import { CAPABILITY_FILES } from '../../capabilities.ts';
import { DD_PATHS } from '../read/packages.ts';
import { reloadersOf } from '../../services/services.ts';
import { importFileOf, UCI_PATHS } from '../write/staging.ts';
import { TUNNEL_STATUS } from '../tunnels.ts';

/** Name of the ACL group, which the login section grants. */
export const ACL_GROUP = 'sdewan-agent';

type FileRights = Record<string, readonly string[]>;

const FOLDERS = Object.values(CERTIFICATE_FOLDERS).flatMap((folders) => Object.values(folders));

export const aclFor = (packages: readonly string[]): object => ({
  [ACL_GROUP]: {
    description: 'SD-EWAN agent',
    read: {
      ubus: {
        session: ['access', 'destroy'],
        file: ['read', 'md5', 'list'],
        'network.interface': ['dump'],
        mwan3: ['status'],
      },
      file: merge([
        granted(CAPABILITY_FILES.listed, ['list']),
        granted(CAPABILITY_FILES.read, ['read']),
        granted(FOLDERS, ['list']),
        ...packages.map(reading),
        executable(
          Object.values(TUNNEL_STATUS).map(({ command, params }) => [command, ...params].join(' ')),
        ),
      ]),
    },
    write: {
      ubus: {
        uci: ['add', 'revert', 'apply', 'confirm', 'rollback'],
        file: ['write', 'remove', 'exec'],
      },
      uci: packages,
      file: merge([
        ...packages.map(writing),
        granted(
          FOLDERS.map((folder) => `${folder}/${OWN_FILES.prefix}*${OWN_FILES.suffix}`),
          ['read', 'write'],
        ),
      ]),
    },
  },
});

const reading = (name: string): FileRights => ({
  [`/etc/config/${name}`]: ['read'],
  // Never `skip=*`: rpcd's `*` matches blanks, too, so further arguments would pass.
  ...executable(
    DD_PATHS.flatMap((dd) =>
      ['[0-9]', '[0-9][0-9]'].map(
        (skip) => `${dd} if=/etc/config/${name} bs=131072 count=1 skip=${skip}`,
      ),
    ),
  ),
});

const writing = (name: string): FileRights => ({
  [`/var/run/rpcd/uci-*/${name}`]: ['write'],
  [importFileOf(name)]: ['read', 'write'],
  ...executable(UCI_PATHS.map((uci) => `${uci} -f ${importFileOf(name)} import ${name}`)),
  ...executable(reloadersOf(name).map((program) => `${program} reload`)),
});

const granted = (paths: readonly string[], names: readonly string[]): FileRights =>
  Object.fromEntries(paths.map((path) => [path, names]));

const executable = (commands: readonly string[]): FileRights => granted(commands, ['exec']);

const merge = (rights: readonly FileRights[]): FileRights => Object.assign({}, ...rights);
