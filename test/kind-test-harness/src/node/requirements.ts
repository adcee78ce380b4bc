/** What a real node needs of this machine: root, and programs that Debian and Ubuntu have as packages. */
import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';

import { run } from '../run.ts';

/** Program and the package that brings it. Looked for by program: machines with Docker have containerd otherwise. */
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
const INSTALL_TIMEOUT_MS = 600_000;

/** Sbin folders are not on every user's PATH, and runc and iptables are there. */
export const NODE_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export type Machine = {
  /** Folder with the standard CNI plugins. */
  cniDirectory: string;
  /** Absolute path of a program that `PROGRAMS` names. */
  program: (name: string) => string;
};

export type RequirementsDeps = {
  env: NodeJS.ProcessEnv;
  say: (line: string) => void;
  signal?: AbortSignal | undefined;
};

/**
 * Why the node backend cannot run here, for tests that skip; undefined when it can. With CI=true as root it always can:
 * what is missing is installed, and a failure to do so must be seen.
 */
export const whyNoNode = async (
  env: NodeJS.ProcessEnv = process.env,
): Promise<string | undefined> => {
  const reason = unsupported();
  if (reason !== undefined || env['CI'] === 'true') return reason;
  const { missing } = await find();
  return missing.length > 0 ? `it needs packages: ${installCommand(missing)}` : undefined;
};

const unsupported = (): string | undefined => {
  if (process.platform !== 'linux') return `it needs Linux, this is ${process.platform}`;
  if (process.getuid?.() !== 0) return 'it needs root, for namespaces and control groups';
  return undefined;
};

const install = (packages: readonly string[]): string[] => [
  'apt-get',
  'install',
  '-y',
  '--no-install-recommends',
  ...packages,
];
const installCommand = (packages: readonly string[]): string => install(packages).join(' ');

/** Finds what a node needs; with CI=true installs what is missing. @throws naming the missing packages. */
export const requireMachine = async (deps: RequirementsDeps): Promise<Machine> => {
  const reason = unsupported();
  if (reason) throw new Error(`the backend "node" cannot run here: ${reason}`);
  let found = await find();
  if (found.missing.length > 0) {
    if (deps.env['CI'] !== 'true') {
      throw new Error(`the backend "node" needs packages: ${installCommand(found.missing)}`);
    }
    deps.say(`installing ${found.missing.join(', ')}`);
    await apt(['apt-get', 'update'], deps);
    await apt(install(found.missing), deps);
    found = await find();
  }
  const { cniDirectory, programs } = found;
  if (found.missing.length > 0 || !cniDirectory) {
    throw new Error(`still missing after the installation: ${found.missing.join(', ')}`);
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
  await access(path, constants.X_OK).then(
    () => true,
    () => false,
  );

const apt = async (
  command: readonly string[],
  { env, signal }: RequirementsDeps,
): Promise<void> => {
  const result = await run(command, {
    env: { ...env, DEBIAN_FRONTEND: 'noninteractive' },
    timeoutMs: INSTALL_TIMEOUT_MS,
    signal,
  });
  if (result.code !== 0)
    throw new Error(`${command.join(' ')} failed:\n${result.stderr.slice(-2000)}`);
};
