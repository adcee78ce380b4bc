/**
 * What a real node needs of this machine: root, and programs that Debian and Ubuntu have as
 * packages.
 */
import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';

import { installCommand, installPackages, mayInstall, type InstallDeps } from '../packages.ts';
import { run } from '../run.ts';

/**
 * Program and the package that brings it. Looked for by program: machines with Docker have
 * containerd otherwise.
 */
const PROGRAMS: Readonly<Record<string, string>> = {
  containerd: 'containerd',
  'containerd-shim-runc-v2': 'containerd',
  ctr: 'containerd',
  runc: 'runc',
  ip: 'iproute2',
  iptables: 'iptables',
  mount: 'mount',
  nsenter: 'util-linux',
};
const CNI_PLUGINS = ['ptp', 'host-local', 'loopback'];
const CNI_PACKAGE = 'containernetworking-plugins';
const CNI_DIRECTORIES = ['/usr/lib/cni', '/opt/cni/bin'];
const PROBE_TIMEOUT_MS = 20_000;

/** Sbin folders are not on every user's PATH, and runc and iptables are there. */
export const NODE_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export type Machine = {
  /** Folder with the standard CNI plugins. */
  cniDirectory: string;
  /** Absolute path of a program that `PROGRAMS` names. */
  program: (name: string) => string;
};

/**
 * Why the node backend cannot run here; undefined when it can. In CI as root, packages that are
 * missing are installed: there, only what no package mends is a reason.
 */
export const whyNoNode = async (
  deps: InstallDeps = { env: process.env, say: console.warn },
): Promise<string | undefined> => {
  const reason = unsupported() ?? (await forbidden());
  if (reason !== undefined) return reason;
  const { missing } = await find();
  if (missing.length === 0) return undefined;
  if (!mayInstall(deps.env)) return `it needs packages: ${installCommand(missing)}`;
  return await installPackages(missing, deps).then(
    () => undefined,
    (error: unknown) => `its packages cannot be had: ${String(error)}`,
  );
};

const unsupported = (): string | undefined => {
  if (process.platform !== 'linux') return `it needs Linux, this is ${process.platform}`;
  if (process.getuid?.() !== 0) return 'it needs root, for namespaces and control groups';
  return undefined;
};

/** Root in a container often may do neither. */
const forbidden = async (): Promise<string | undefined> => {
  const namespaces = ['--mount', '--net', '--pid', '--ipc', '--uts', '--fork'];
  const probe = ['unshare', ...namespaces, 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt'];
  const options = { env: { PATH: NODE_PATH }, timeoutMs: PROBE_TIMEOUT_MS };
  // its package is looked for later
  const probed = await run(probe, options).catch(() => undefined);
  if (probed && probed.code !== 0)
    return `this root may not make namespaces: ${probed.stderr.trim()}`;
  for (const hierarchy of ['/sys/fs/cgroup/memory', '/sys/fs/cgroup']) {
    if (await isAccessible(hierarchy, constants.W_OK)) return undefined;
  }
  return 'this root may not make control groups: /sys/fs/cgroup is read-only';
};

/** Finds what a node needs. @throws with the reason that `whyNoNode` gives */
export const requireMachine = async (deps: InstallDeps): Promise<Machine> => {
  const reason = await whyNoNode(deps);
  if (reason) throw new Error(`the backend "node" cannot run here: ${reason}`);
  const { missing, cniDirectory, programs } = await find();
  if (missing.length > 0 || !cniDirectory) {
    throw new Error(`still missing after the installation: ${missing.join(', ')}`);
  }
  return {
    cniDirectory,
    program: (name) => {
      const path = programs.get(name);
      if (!path) throw new Error(`${name} is not among the programs that a node needs`);
      return path;
    },
  };
};

type Found = { missing: string[]; programs: Map<string, string>; cniDirectory: string | undefined };

const find = async (): Promise<Found> => {
  const missing = new Set<string>();
  const programs = new Map<string, string>();
  for (const [program, packageName] of Object.entries(PROGRAMS)) {
    const path = await firstExecutable(NODE_PATH.split(':').map((folder) => join(folder, program)));
    if (path) programs.set(program, path);
    else missing.add(packageName);
  }
  let cniDirectory: string | undefined;
  for (const directory of CNI_DIRECTORIES) {
    const plugins = CNI_PLUGINS.map(async (name) => await isExecutable(join(directory, name)));
    if ((await Promise.all(plugins)).every(Boolean)) cniDirectory ??= directory;
  }
  if (!cniDirectory) missing.add(CNI_PACKAGE);
  return { missing: [...missing].sort(), programs, cniDirectory };
};

const firstExecutable = async (paths: readonly string[]): Promise<string | undefined> => {
  for (const path of paths) if (await isExecutable(path)) return path;
  return undefined;
};

const isExecutable = async (path: string): Promise<boolean> =>
  await isAccessible(path, constants.X_OK);

const isAccessible = async (path: string, mode: number): Promise<boolean> =>
  await access(path, mode).then(
    () => true,
    () => false,
  );
