/** The OpenWRT that tests get from SDEWAN_OPENWRT_ROOTFS, a file or a folder (README.md here). */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

export const TOOL = import.meta.dirname;

/** Why there is none; undefined: there is. */
export const whyNoRootFileSystem = (): string | undefined => {
  const given = process.env['SDEWAN_OPENWRT_ROOTFS'] ?? '';
  if (given === '') return 'SDEWAN_OPENWRT_ROOTFS names no root file system of an OpenWRT';
  return existsSync(given) ? undefined : `SDEWAN_OPENWRT_ROOTFS: there is no ${given}`;
};

/** Its folder; a tar is unpacked once, which takes root. @throws where it is none */
export const rootFileSystem = (): string => {
  const show = ['-c', '. "$1" && root_file_system', 'root-file-system', join(TOOL, 'lib.sh')];
  return execFileSync('bash', show, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  }).trim();
};
