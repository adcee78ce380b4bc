/**
 * Certificates of IPsec remotes: base64 in the body, files on the device. REST decodes the files
 * once more when it shows them, which gives garbage, and does not find the second and later files
 * of a field, whose paths it reads with a leading blank.
 */
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { readBytes, writeBytes } from '../bytes.ts';
import { luaError } from './errors.ts';

export type CertificateField = { name: string; directory: string; suffix: string };

export const CERTIFICATE_FIELDS: readonly CertificateField[] = [
  { name: 'local_public_cert', directory: '/etc/ipsec.d/certs', suffix: 'public' },
  { name: 'local_private_cert', directory: '/etc/ipsec.d/private', suffix: 'private' },
  { name: 'shared_ca', directory: '/etc/ipsec.d/cacerts', suffix: 'ca' },
];

type Place = (devicePath: string) => string;

/**
 * Writes one file per part and gives their paths, as UCI holds them. @throws LuaError for what is
 * no base64
 */
export const save = (
  { directory, suffix }: CertificateField,
  remote: string,
  { value, path }: { value: string; path: Place },
): string =>
  value
    .split(/[_^]+/)
    .filter((part) => part !== '')
    .map((part, index) => {
      const devicePath = `${directory}/${remote}_${suffix}_${index}.pem`;
      const file = path(devicePath);
      mkdirSync(dirname(file), { recursive: true });
      writeBytes(file, '');
      if (!/^[A-Za-z0-9+/]*={0,2}$/.test(part))
        throw luaError('utils.lua:868', "bad argument #1 to 'write' (string expected, got nil)");
      writeBytes(file, Buffer.from(part, 'base64').toString('latin1'));
      return devicePath;
    })
    .join(', ');

/** Undefined where nothing comes out of it. */
export const decodedAgain = (paths: string, path: Place): string | undefined => {
  const decoded = paths
    .split(',')
    .map((devicePath) =>
      decodeLoosely(existsAt(path, devicePath) ? readBytes(path(devicePath)) : devicePath),
    )
    .join('\n');
  return decoded === '' ? undefined : decoded;
};

export const removeFiles = (paths: string, path: Place): void => {
  for (const devicePath of paths.split(','))
    if (existsAt(path, devicePath)) rmSync(path(devicePath));
};

/** A path with a leading blank names no file. */
const existsAt = (path: Place, devicePath: string): boolean =>
  devicePath.startsWith('/') && existsSync(path(devicePath));

/** Whole groups of four of whatever belongs to the alphabet. */
const decodeLoosely = (text: string): string => {
  const letters = text.replaceAll(/[^A-Za-z0-9+/]/g, '');
  return Buffer.from(letters.slice(0, letters.length - (letters.length % 4)), 'base64').toString(
    'latin1',
  );
};
