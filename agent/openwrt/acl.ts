/**
 * The rights of the agent's own login, as an ACL file of rpcd: exactly what the ubus driver calls, and nothing of other
 * packages. Measured on a real rpcd: with these, `uci commit`, `uci get rpcd`, /etc/shadow, `sh` and `fw4 stop` are refused.
 */
import { INIT_SCRIPTS } from './ipsec-dialect.ts';
import { DD_PATHS } from './packages.ts';
import { reloadersOf } from './services.ts';
import { importFileOf, UCI_PATHS } from './staging.ts';
import { TUNNEL_STATUS } from './tunnels.ts';

/** Name of the ACL group, which the login section grants. */
export const ACL_GROUP = 'sdewan-agent';

type FileRights = Record<string, readonly string[]>;

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
        { [INIT_SCRIPTS]: ['list'] },
        ...packages.map(reading),
        executable(
          Object.values(TUNNEL_STATUS).map(({ command, params }) => [command, ...params].join(' ')),
        ),
      ]),
    },
    write: {
      ubus: {
        uci: ['add', 'revert', 'apply', 'confirm', 'rollback'],
        file: ['write', 'exec'],
      },
      uci: packages,
      file: merge(packages.map(writing)),
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

const executable = (commands: readonly string[]): FileRights =>
  Object.fromEntries(commands.map((command) => [command, ['exec']]));

const merge = (rights: readonly FileRights[]): FileRights => Object.assign({}, ...rights);
