/**
 * ACL files of a stock image, and rights of the agent's login for `uci` and the reload of services:
 * so it takes the staged path.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const STOCK = join(import.meta.dirname, '../../openwrt/simulator/factory/acl');

export const stagedRights = (packages: readonly string[]): Record<string, string> => {
  const reloads = ['/sbin/fw4', ...packages.map((name) => `/etc/init.d/${name}`)];
  const rights = {
    description: 'the staged path',
    read: {
      ubus: { session: ['access', 'destroy'], uci: ['get'], file: ['list'] },
      uci: packages,
      file: { '/etc/config': ['list'] },
    },
    write: {
      ubus: { uci: ['add', 'set', 'delete', 'apply'], file: ['exec'] },
      uci: packages,
      file: Object.fromEntries(reloads.map((program) => [`${program} reload`, ['exec']])),
    },
  };
  return {
    ...Object.fromEntries(
      readdirSync(STOCK).map((name) => [name, readFileSync(join(STOCK, name), 'utf8')]),
    ),
    'sdewan-agent.json': JSON.stringify({ 'sdewan-agent': rights }),
  };
};
