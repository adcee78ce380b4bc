/**
 * The real OpenWRT userland of test/openwrt-device as the image of a CNF without mwan3: what is built there, the programs of this machine that its
 * scripts start, and the libraries of both. For tests on this machine.
 */
import { existsSync } from 'node:fs';
import { lstat, mkdir, readdir, readFile, readlink } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { writeImageArchive, type ImageEntry } from 'kind-test-harness';
import { OUTPUT, ROOT } from './catalog.ts';
import { runOrThrow } from './run.ts';

export const DEVICE_IMAGE = 'docker.io/library/openwrt-device:dev';

const TOOL = join(ROOT, 'test/openwrt-device');
const BUILT = join(
  process.env['OPENWRT_DEVICE_DIR'] || join(homedir(), '.cache/openwrt-device'),
  'dest',
);

/** Why it cannot be made here; undefined: it can. */
export const whyNoDeviceImage = (): string | undefined =>
  existsSync(join(BUILT, 'built'))
    ? undefined
    : 'test/openwrt-device is not built: see its README.md';

/** The docker-archive, for `Cluster.loadImages`. @throws where `whyNoDeviceImage` says so. */
export const buildDeviceImage = async (): Promise<string> => {
  const own = (await entriesIn(BUILT)).filter(({ path }) => !path.includes('mwan3'));
  const programs = await Promise.all(PROGRAMS.map(programFile));
  const applets = (await runOrThrow([BUSYBOX, '--list'])).trim().split('\n');
  const sources = [...own, ...programs].flatMap((entry) =>
    'source' in entry ? [entry.source] : [],
  );
  const taken = new Set([...own, ...programs].map(({ path }) => path));
  const entries: ImageEntry[] = [
    ...['bin', 'sbin', 'lib', 'lib64'].map((name) => ({ path: `/${name}`, linkTo: `usr/${name}` })),
    ...applets
      .filter((name) => FOLDERS.every((folder) => !taken.has(`${folder}/${name}`)))
      .map((name) => ({ path: `/usr/bin/${name}`, linkTo: 'busybox' })),
    { path: '/usr/bin/busybox', source: BUSYBOX },
    ...programs,
    ...(await librariesOf(await programsAmong(sources))),
    ...own,
    { path: '/usr/lib/openwrt-device/pod.sh', source: join(TOOL, 'pod.sh') },
    { path: '/usr/lib/openwrt-device/services.sh', source: join(TOOL, 'services.sh') },
    ...FILES,
    { path: FIREWALL, content: `${await readFile(join(BUILT, FIREWALL), 'utf8')}${OF_PODS}` },
  ];
  await mkdir(OUTPUT, { recursive: true });
  const archive = join(OUTPUT, 'openwrt-device.tar');
  const entrypoint = ['/usr/lib/openwrt-device/pod.sh'];
  await writeImageArchive(archive, { name: DEVICE_IMAGE, entries, entrypoint });
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
const BUSYBOX = '/usr/bin/busybox';
const FOLDERS = ['/usr/bin', '/usr/sbin'];
/** Of which busybox has none, or one that OpenWRT's scripts do not understand. */
const PROGRAMS = ['bash', 'nft', 'ip', 'jq', 'lua5.1', 'flock'];

/** What up.sh makes at each start, and what Debian has anyway. */
const FILES: readonly ImageEntry[] = [
  { path: '/etc/passwd', content: 'root:x:0:0:root:/root:/bin/sh\n', mode: 0o644 },
  { path: '/etc/group', content: 'root:x:0:\n', mode: 0o644 },
  { path: '/etc/openwrt_release', content: "DISTRIB_DESCRIPTION='test/openwrt-device'\n" },
  { path: '/etc/protocols', source: '/etc/protocols', mode: 0o644 },
  { path: '/root', directory: true, mode: 0o700 },
  { path: '/run', directory: true },
  { path: '/tmp', directory: true, mode: 0o1777 },
  { path: '/var/run', linkTo: '../run' },
  { path: '/var/lock', linkTo: '../run/lock' },
  { path: '/var/log', directory: true },
];

const programFile = async (name: string): Promise<{ path: string; source: string }> => {
  const path = FOLDERS.map((folder) => join(folder, name)).find(existsSync);
  if (path === undefined)
    throw new Error(`the image needs ${name}, which is not installed: see ${TOOL}/build.sh`);
  return { path, source: path };
};

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

const ELF = Buffer.from('\u007fELF');

const programsAmong = async (files: readonly string[]): Promise<string[]> => {
  const found = await Promise.all(
    files.map(async (file) => ((await readFile(file)).subarray(0, 4).equals(ELF) ? [file] : [])),
  );
  return found.flat();
};

/** At the paths where the loader looks; of the device's own none. */
const librariesOf = async (files: readonly string[]): Promise<ImageEntry[]> => {
  const own = join(BUILT, 'usr/lib');
  const listed = await runOrThrow([
    'env',
    `LD_LIBRARY_PATH=${own}`,
    'sh',
    '-c',
    'ldd "$@" 2>/dev/null; true',
    'sh',
    ...files,
  ]);
  const found = [...listed.matchAll(/(\/\S+) \(0x/g)].map(([, path = '']) => path);
  return [...new Set(found)]
    .filter((path) => !path.startsWith(own))
    .map((path) => ({ path: path.replace(/^\/lib/, '/usr/lib'), source: path }));
};
