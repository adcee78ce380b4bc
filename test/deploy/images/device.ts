/**
 * A real OpenWRT as the image of a CNF: a root file system (test/openwrt/device)
 * with the files and the first process of deploy/cnf-image. For tests on this machine.
 */
import { lstat, mkdir, readdir, readlink } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeImageArchive, type ImageEntry } from 'kind-test-harness';
import { rootFileSystem, whyNoRootFileSystem } from '../../openwrt/device/root-file-system.ts';
import { OUTPUT } from './catalog.ts';

export const DEVICE_IMAGE = 'docker.io/library/cnf-openwrt:dev';

/** Why it cannot be made here; undefined: it can. */
export const whyNoDeviceImage = whyNoRootFileSystem;

/** The docker-archive, for `Cluster.loadImages`. @throws where `whyNoDeviceImage` says so. */
export const buildDeviceImage = async (): Promise<string> => {
  const own = await entriesIn(rootFileSystem());
  const known = new Set(own.map(({ path }) => path));
  // A folder of ours may be a link there.
  const product = (await entriesIn(PRODUCT)).filter(
    (entry) => !('directory' in entry && known.has(entry.path)),
  );
  const ofProduct = new Set(product.map(({ path }) => path));
  const entries: ImageEntry[] = [...own.filter(({ path }) => !ofProduct.has(path)), ...product];
  await mkdir(OUTPUT, { recursive: true });
  const archive = join(OUTPUT, 'openwrt-device.tar');
  await writeImageArchive(archive, {
    name: DEVICE_IMAGE,
    entries,
    entrypoint: ['/usr/sbin/cnf-init'],
  });
  return archive;
};

/** What deploy/cnf-image puts over an official root file system. */
const PRODUCT = fileURLToPath(new URL('../../../deploy/cnf-image/files', import.meta.url));

const entriesIn = async (folder: string): Promise<ImageEntry[]> => {
  const found: ImageEntry[] = [];
  // By names alone it would go on where a link leads to, which is this machine's.
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const source = join(entry.parentPath, entry.name);
    const path = `/${relative(folder, source)}`;
    const { mode } = await lstat(source);
    if (entry.isSymbolicLink()) found.push({ path, linkTo: await readlink(source) });
    else if (entry.isDirectory()) found.push({ path, directory: true, mode: mode & 0o7777 });
    else if (entry.isFile()) found.push({ path, source, mode: mode & 0o7777 });
  }
  return found;
};
