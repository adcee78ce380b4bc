/**
 * What a fresh container of the CNF image holds. It is written anew on every start: a restarted CNF
 * has lost all rules, as the real one has.
 */
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { toBytes, writeBytes } from '../bytes.ts';
import { hashPassword } from '../rpcd/passwords.ts';
import {
  ACL_DIRECTORY,
  CONFIG_DIRECTORY,
  IPSEC_FOLDERS,
  RUN_DIRECTORY,
  SHADOW_FILE,
  type DeviceRoot,
} from '../root.ts';
import type { UciStore } from '../uci/store.ts';
import { escape } from '../uci/text.ts';

export type Login = { username: string; password: string };
export type Factory = {
  /** Packages by name; those that ship with the simulator when absent. */
  packages?: Readonly<Record<string, string>>;
  /** ACL files by name (`x.json`); those that ship with the simulator when absent. */
  aclFiles?: Readonly<Record<string, string>>;
  /**
   * The administrator `root`, with the rights of a stock LuCI image. Any password passes when
   * absent, as on a fresh OpenWRT.
   */
  rootPassword?: string | undefined;
  /** Passwords of more users, for packages with logins of their own. */
  passwords?: Readonly<Record<string, string>>;
  /**
   * A login for the agent, with the rights of acl/sdewan-agent.json. None when absent: a stock
   * image.
   */
  agent?: Login | undefined;
  /** Files of the device (its paths) that a volume holds: they are not the factory's to write. */
  mounted?: readonly string[];
};

const HERE = import.meta.dirname;
const RPCD_FILE = `${CONFIG_DIRECTORY}/rpcd`;

/** Wipes packages, staged changes, temporary files and rights, and fills them again. */
export const writeFactory = (root: DeviceRoot, store: UciStore, factory: Factory): void => {
  const by = { call: 'factory' };
  const mounted = new Set(factory.mounted);
  for (const directory of [RUN_DIRECTORY, '/tmp', ACL_DIRECTORY, ...IPSEC_FOLDERS])
    emptyDirectory(root, directory, mounted);
  const packages = factory.packages ?? shippedPackages();
  const rpcd = mounted.has(RPCD_FILE) ? {} : { rpcd: rpcdPackage(factory) };
  const kept = new Set([...Object.keys(packages), 'rpcd']);
  for (const name of store.list()) if (!kept.has(name)) store.remove(name, by);
  for (const [name, text] of Object.entries({ ...rpcd, ...packages }))
    store.replace(name, toBytes(text), by);
  writeAclFiles(root, factory, mounted);
  writeBytes(root.path(SHADOW_FILE), shadowText(factory));
};

const shippedPackages = (): Record<string, string> =>
  Object.fromEntries(
    readdirSync(`${HERE}/config`).map((name) => [
      name,
      readFileSync(`${HERE}/config/${name}`, 'utf8'),
    ]),
  );

const writeAclFiles = (root: DeviceRoot, factory: Factory, mounted: ReadonlySet<string>): void => {
  const files = factory.aclFiles ?? shippedAclFiles(factory);
  for (const [name, text] of Object.entries(files)) {
    const path = `${ACL_DIRECTORY}/${name}`;
    if (!mounted.has(path)) writeBytes(root.path(path), toBytes(text));
  }
};

const shippedAclFiles = ({ agent }: Factory): Record<string, string> => {
  const files = readdirSync(`${HERE}/acl`).map((name) => [name, `${HERE}/acl/${name}`]);
  if (agent) files.push(['sdewan-agent.json', `${HERE}/../acl/sdewan-agent.json`]);
  return Object.fromEntries(
    files.map(([name = '', path = '']) => [name, readFileSync(path, 'utf8')]),
  );
};

const rpcdPackage = ({ agent }: Factory): string =>
  `${loginSection('root', '*')}${agent ? loginSection(agent.username, 'sdewan-agent') : ''}\n`;

const loginSection = (username: string, group: string): string =>
  [
    '\nconfig login\n',
    `\toption username '${escape(username)}'\n`,
    `\toption password '$p$${escape(username)}'\n`,
    `\tlist read '${group}'\n`,
    `\tlist write '${group}'\n`,
  ].join('');

const shadowText = ({ rootPassword, agent, passwords = {} }: Factory): string => {
  const line = (username: string, password: string | undefined): string =>
    `${toBytes(username)}:${password === undefined ? '' : hashPassword(toBytes(password))}:0:0:99999:7:::\n`;
  return [
    line('root', passwords['root'] ?? rootPassword),
    ...(agent ? [line(agent.username, agent.password)] : []),
    ...Object.entries(passwords).map(([username, password]) => line(username, password)),
  ].join('');
};

/** What lies there before the first start was put there by a volume. */
export const mountedFiles = (root: DeviceRoot): string[] => [
  ...(existsSync(root.path(RPCD_FILE)) ? [RPCD_FILE] : []),
  ...[ACL_DIRECTORY, '/etc/init.d', '/tmp'].flatMap((directory) =>
    readdirSync(root.path(directory)).map((name) => `${directory}/${name}`),
  ),
];

const emptyDirectory = (
  root: DeviceRoot,
  directory: string,
  mounted: ReadonlySet<string>,
): void => {
  for (const name of readdirSync(root.path(directory))) {
    if (mounted.has(`${directory}/${name}`)) continue;
    rmSync(root.path(`${directory}/${name}`), { recursive: true, force: true });
  }
};
