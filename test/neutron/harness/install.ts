/**
 * Neutron from PyPI in a venv, OVN and MariaDB unpacked from Debian's packages and not installed,
 * in a folder of the cache that is named by the hash of what is in it. Once for each machine: a
 * minute of CPU and half a gigabyte.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { installPackages, mayInstall } from 'kind-test-harness';

const run = promisify(execFile);

const LOCK = join(import.meta.dirname, 'requirements.lock');
/** Those of OVN and what their programs are linked with, and those of MariaDB. */
const PACKAGES = [
  'ovn-central',
  'ovn-common',
  'openvswitch-common',
  'openvswitch-switch',
  'libunbound8',
  'libxdp1',
  'libbpf1',
  'libevent-2.1-7',
  'libunwind8',
  'libcap-ng0',
  'libelf1',
  'mariadb-server-core',
  'mariadb-client-core',
  'mariadb-common',
  'libaio1',
  'liburing2',
];
const PROGRAMS = {
  'usr/bin': [
    'ovsdb-client',
    'ovsdb-tool',
    'ovn-trace',
    'ovn-nbctl',
    'ovn-northd',
    'mariadb-install-db',
  ],
  'usr/sbin': ['ovsdb-server', 'mariadbd'],
};
const PYTHONS = ['python3.11', 'python3.12', 'python3.13', 'python3.10', 'python3'];
const BIG = { maxBuffer: 2 ** 26 };

export type Installed = {
  python: string;
  /** Programs of OVN and MariaDB. */
  bin: string;
  /** What was unpacked. */
  root: string;
  /** Neutron's own files. */
  etc: string;
};

const folder = (): string => {
  const hash = createHash('sha256').update(readFileSync(LOCK)).update(PACKAGES.join());
  const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache');
  return join(cache, 'sdewan-neutron', hash.digest('hex').slice(0, 16));
};

const partsIn = (home: string): Installed => ({
  python: join(home, 'venv/bin/python'),
  bin: join(home, 'bin'),
  root: join(home, 'root'),
  etc: join(home, 'venv/etc/neutron'),
});

const isReady = (home: string): boolean => existsSync(join(home, 'ready'));

/**
 * Why Neutron cannot be had here; undefined: it can. Installs what is missing; Python itself only
 * in CI.
 */
export const whyNoNeutron = async (): Promise<string | undefined> => {
  if (isReady(folder())) return undefined;
  if (process.platform !== 'linux') return `it needs Linux, this is ${process.platform}`;
  const python = (await findPython()) ?? (await installPython());
  if (python === undefined) return 'it needs Python 3.10 to 3.13 with venv, and there is none';
  try {
    await install(folder(), python);
    return undefined;
  } catch (error) {
    await rm(folder(), { recursive: true, force: true });
    return `its packages cannot be had: ${String(error).slice(0, 2_000)}`;
  }
};

/** @throws with what `whyNoNeutron` says */
export const installNeutron = async (): Promise<Installed> => {
  const because = await whyNoNeutron();
  if (because !== undefined) throw new Error(`Neutron cannot run: ${because}`);
  return partsIn(folder());
};

const findPython = async (): Promise<string | undefined> => {
  const check =
    'import sys, venv, ensurepip; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))';
  for (const python of PYTHONS)
    if (
      await run(python, ['-c', check]).then(
        () => true,
        () => false,
      )
    )
      return python;
  return undefined;
};

/** Undefined: it may not, or cannot. */
const installPython = async (): Promise<string | undefined> => {
  if (!mayInstall(process.env)) return undefined;
  const deps = { env: process.env, say: console.warn };
  return await installPackages(['python3-venv'], deps).then(findPython, () => undefined);
};

const install = async (home: string, python: string): Promise<void> => {
  console.warn(`installing Neutron into ${home}: about a minute, once`);
  await rm(home, { recursive: true, force: true });
  await mkdir(home, { recursive: true });
  await Promise.all([installVenv(home, python), unpackPackages(home)]);
  await writeFile(join(home, 'ready'), '');
};

const installVenv = async (home: string, python: string): Promise<void> => {
  await run(python, ['-m', 'venv', join(home, 'venv')], BIG);
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r', LOCK];
  await run(partsIn(home).python, pip, BIG);
};

const unpackPackages = async (home: string): Promise<void> => {
  const { bin, root } = partsIn(home);
  const debs = join(home, 'debs');
  await mkdir(debs);
  await mkdir(bin);
  const download = (): Promise<unknown> =>
    run('apt-get', ['download', ...PACKAGES], { ...BIG, cwd: debs });
  // A fresh machine has no lists yet.
  await download().catch(async () => {
    await run('apt-get', ['update'], BIG);
    await download();
  });
  for (const deb of await readdir(debs)) await run('dpkg', ['-x', join(debs, deb), root], BIG);
  await rm(debs, { recursive: true });
  const libraries = join(root, 'usr/lib/x86_64-linux-gnu');
  for (const [where, names] of Object.entries(PROGRAMS))
    for (const name of names) {
      const script = `#!/bin/sh\nLD_LIBRARY_PATH='${libraries}' exec '${join(root, where, name)}' "$@"\n`;
      await writeFile(join(bin, name), script);
      await chmod(join(bin, name), 0o755);
    }
};
