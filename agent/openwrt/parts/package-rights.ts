/**
 * What a login needs to read, write and reload UCI packages in the fast way: exactly these, and
 * nothing of other packages.
 */
import { reloadCommandsOf } from '../services/services.ts';
import { executable, mergeGrants, type Grants } from '../ubus/login/grants.ts';
import { blockCommands } from '../ubus/read/blocks.ts';
import { importFileOf, UCI_PATHS } from '../ubus/write/staging.ts';

export const rightsOnPackages = (names: readonly string[]): Grants =>
  mergeGrants([METHODS, ...names.map(reading), ...names.map(writing)]);

const METHODS: Grants = {
  read: { ubus: { file: ['read', 'md5'] } },
  write: {
    ubus: {
      uci: ['add', 'revert', 'apply', 'confirm', 'rollback'],
      file: ['write', 'remove', 'exec'],
    },
  },
};

const reading = (name: string): Grants => ({
  read: {
    file: {
      [`/etc/config/${name}`]: ['read'],
      ...executable(blockCommands(`/etc/config/${name}`)),
    },
  },
});

const writing = (name: string): Grants => ({
  write: {
    uci: [name],
    file: {
      [`/var/run/rpcd/uci-*/${name}`]: ['write'],
      [importFileOf(name)]: ['read', 'write'],
      ...executable(UCI_PATHS.map((uci) => `${uci} -f ${importFileOf(name)} import ${name}`)),
      ...executable(reloadCommandsOf(name)),
    },
  },
});
