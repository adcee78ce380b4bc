/**
 * The rights of the agent's own login, as an ACL file of rpcd: exactly what the ubus driver calls,
 * and nothing of other packages. Measured on a real rpcd: with these, `uci commit`, `uci get rpcd`,
 * /etc/shadow, `sh` and `fw4 stop` are refused.
 */
import { CAPABILITY_FILES } from '../../capabilities.ts';
import { KERNEL_RIGHTS } from '../../kernel/calls.ts';
import { parts } from '../../parts/parts.ts';
import { TUNNEL_STATUS } from '../tunnels.ts';
import { executable, granted, mergeGrants, type Grants } from './grants.ts';

/** Name of the ACL group, which the login section grants. */
export const ACL_GROUP = 'sdewan-agent';

const SESSION: Grants = { read: { ubus: { session: ['access', 'destroy'] } } };

const CAPABILITIES: Grants = {
  read: {
    ubus: { file: ['list', 'read'] },
    file: {
      ...granted(CAPABILITY_FILES.listed, ['list']),
      ...granted(CAPABILITY_FILES.read, ['read']),
    },
  },
};

const INFORMATION: Grants = {
  read: {
    ubus: { 'network.interface': ['dump'], mwan3: ['status'] },
    file: executable(
      Object.values(TUNNEL_STATUS).map(({ command, params }) => [command, ...params].join(' ')),
    ),
  },
  write: { ubus: { file: ['exec'] } },
};

export const aclFor = (packages: readonly string[]): object => ({
  [ACL_GROUP]: {
    description: 'SD-EWAN agent',
    ...mergeGrants([
      SESSION,
      CAPABILITIES,
      INFORMATION,
      KERNEL_RIGHTS,
      ...parts.map(({ rights }) => rights(packages)),
    ]),
  },
});
