/** The device's file system: absolute paths of the device inside one folder of this machine. */
import { mkdirSync } from 'node:fs';

export type DeviceRoot = {
  /** The folder that is `/` of the device. */
  readonly directory: string;
  /** The place on this machine of a canonical path of the device. */
  path: (devicePath: string) => string;
};

export const CONFIG_DIRECTORY = '/etc/config';
export const RUN_DIRECTORY = '/var/run/rpcd';
export const ACL_DIRECTORY = '/usr/share/rpcd/acl.d';
export const SHADOW_FILE = '/etc/shadow';

/** Folders that the packages of strongSwan bring. */
export const IPSEC_FOLDERS: readonly string[] = [
  ...['certs', 'private', 'cacerts'].map((name) => `/etc/ipsec.d/${name}`),
  ...['x509', 'private', 'x509ca'].map((name) => `/etc/swanctl/${name}`),
];

export const createDeviceRoot = (directory: string): DeviceRoot => {
  const root: DeviceRoot = {
    directory,
    path: (devicePath) => `${directory}${canonicalPath(devicePath)}`,
  };
  for (const needed of [
    CONFIG_DIRECTORY,
    RUN_DIRECTORY,
    ACL_DIRECTORY,
    '/tmp',
    '/etc/luci-uploads',
    '/etc/init.d',
    ...IPSEC_FOLDERS,
  ])
    mkdirSync(root.path(needed), { recursive: true });
  return root;
};

/**
 * Collapses `//`, `/./` and `/../` by the text alone, as rpcd does before it checks rights; never
 * leaves `/`.
 */
export const canonicalPath = (path: string): string => {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part === '..') parts.pop();
    else parts.push(part);
  }
  return `/${parts.join('/')}`;
};
