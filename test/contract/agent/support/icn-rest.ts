/** An OpenWRT that speaks ICN's REST only, as tests of the driver `icn` need it. */
import type { Driver } from '../../../../agent/openwrt/driver.ts';
import { createIcnDriver } from '../../../../agent/openwrt/icn/driver.ts';
import { readUci, type DeviceSection } from '../../../openwrt/checks/uci.ts';
import { startOpenwrt, type OpenwrtOptions, type TestOpenwrt } from './openwrt.ts';

export const startIcn = (options: OpenwrtOptions = {}): Promise<TestOpenwrt> =>
  startOpenwrt({ apis: ['icn'], login: 'stock', ...options });

export const icnDriver = (
  { simulator, clock, usernameFile, passwordFile }: TestOpenwrt,
  options: { reassertMs?: number } = {},
): Driver =>
  createIcnDriver({
    target: { url: simulator.url, usernameFile, passwordFile },
    reassertMs: 0,
    clock: clock.agent,
    ...options,
  });

/** Packages that REST writes to. */
export const ICN_PACKAGES = [
  'firewall',
  'firewall-rule',
  'firewall-nat',
  'mwan3',
  'route-cnf',
  'rule-cnf',
  'app-cnf',
  'ipsec',
] as const;

/** All of them as their files hold them; one that is not there has nothing. */
export const filesOf = ({ simulator }: TestOpenwrt): Record<string, DeviceSection[]> =>
  Object.fromEntries(ICN_PACKAGES.map((name) => [name, readUci(simulator.store.text(name) ?? '')]));

/** What every kernel table holds that REST set. */
export const kernelOf = ({ simulator: { kernel } }: TestOpenwrt): readonly string[] => [
  ...['filter', 'nat', 'mangle'].flatMap((table) =>
    kernel.iptables(table).map((rule) => `${table} ${rule}`),
  ),
  ...kernel.ipRules.list().map((rule) => JSON.stringify(rule)),
  ...['main', '40'].flatMap((table) =>
    kernel.routes.list(table).map((route) => `${table} ${JSON.stringify(route)}`),
  ),
];
