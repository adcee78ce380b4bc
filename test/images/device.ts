/**
 * A real OpenWRT as the image of a CNF, without mwan3: a root file system (test/openwrt-device), whose init is started once the network of the pod
 * stands in /etc/config. For tests on this machine.
 */
import { lstat, mkdir, readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { writeImageArchive, type ImageEntry } from 'kind-test-harness';
import { rootFileSystem, TOOL, whyNoRootFileSystem } from '../openwrt-device/root-file-system.ts';
import { OUTPUT } from './catalog.ts';

export const DEVICE_IMAGE = 'docker.io/library/openwrt-device:dev';

/** Why it cannot be made here; undefined: it can. */
export const whyNoDeviceImage = whyNoRootFileSystem;

/** The docker-archive, for `Cluster.loadImages`. @throws where `whyNoDeviceImage` says so. */
export const buildDeviceImage = async (): Promise<string> => {
  const root = rootFileSystem();
  const own = (await entriesIn(root)).filter(
    ({ path }) => !path.includes('mwan3') && path !== FIREWALL,
  );
  const entries: ImageEntry[] = [
    ...own,
    { path: '/pod.sh', source: join(TOOL, 'pod.sh') },
    { path: FIREWALL, content: `${await readFile(join(root, FIREWALL), 'utf8')}${OF_PODS}` },
  ];
  await mkdir(OUTPUT, { recursive: true });
  const archive = join(OUTPUT, 'openwrt-device.tar');
  await writeImageArchive(archive, { name: DEVICE_IMAGE, entries, entrypoint: ['/pod.sh'] });
  return archive;
};

const FIREWALL = '/etc/config/firewall';
/** Kubernetes' own network, which no FirewallZone has: without a zone the kubelet's probes are rejected, as the section defaults says. */
const OF_PODS = `
config zone
\toption name 'pods'
\tlist device 'eth0'
\toption input 'ACCEPT'
\toption output 'ACCEPT'
\toption forward 'ACCEPT'
`;

const entriesIn = async (folder: string): Promise<ImageEntry[]> => {
  const found: ImageEntry[] = [];
  for (const name of await readdir(folder, { recursive: true })) {
    const source = join(folder, name);
    const stat = await lstat(source);
    const path = `/${name}`;
    if (stat.isSymbolicLink()) found.push({ path, linkTo: await readlink(source) });
    else if (stat.isDirectory()) found.push({ path, directory: true, mode: stat.mode & 0o7777 });
    else if (stat.isFile()) found.push({ path, source, mode: stat.mode & 0o7777 });
  }
  return found;
};
