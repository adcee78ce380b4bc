/** Writes the files that the node's daemons start from. */
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';

import { formatKubeconfig } from '../kube/kubeconfig.ts';
import { run } from '../run.ts';
import {
  cniConfig,
  containerdConfig,
  corefile,
  EXTRA_INTERFACES_PLUGIN,
  kubeletConfig,
  type Snapshotter,
} from './configs.ts';
import { DAEMON_USERS, nodeFiles, type DaemonUser, type NodeFiles } from './files.ts';
import type { Machine } from './requirements.ts';
import type { Subnets } from './subnets.ts';

const CERTIFICATES_TIMEOUT_MS = 30_000;

export type PrepareInput = {
  runDirectory: string;
  helper: string;
  machine: Machine;
  subnets: Subnets;
  snapshotter: Snapshotter;
};

/** Everything but the kubeconfigs, which need the API server's certificate. */
export const prepareFiles = async (input: PrepareInput): Promise<NodeFiles> => {
  const { runDirectory, helper, machine, subnets, snapshotter } = input;
  const files = nodeFiles(runDirectory);
  await Promise.all(
    [
      files.cniConfigs,
      files.otherCniConfigs,
      files.cniPlugins,
      files.certificates,
      files.containerdRoot,
    ].map(async (directory) => await mkdir(directory)),
  );
  await Promise.all([
    linkPlugins(machine.cniDirectory, helper, files.cniPlugins),
    writeCertificates(helper, files.certificates),
    writeFile(files.podNetwork, cniConfig(subnets)),
    writeFile(
      files.containerdConfig,
      containerdConfig(files, machine.program('runc'), snapshotter),
    ),
    writeFile(files.kubeletConfig, kubeletConfig(files, subnets, basename(runDirectory))),
    writeFile(files.corefile, corefile(files, subnets)),
    writeFile(files.resolvConf, ''),
  ]);
  return files;
};

/** Gives each daemon a kubeconfig with the certificate of its own user. */
export const writeKubeconfigs = async (
  files: NodeFiles,
  connection: { server: string; ca: string },
): Promise<void> => {
  const users: DaemonUser[] = ['kubelet', 'kube-proxy', 'cluster-dns'];
  for (const user of users) {
    const cert = await readFile(join(files.certificates, `${user}.crt`), 'utf8');
    const key = await readFile(join(files.certificates, `${user}.key`), 'utf8');
    const text = formatKubeconfig({ ...connection, cert, key });
    await writeFile(files.kubeconfig(user), text, { mode: 0o600 });
  }
};

/** containerd before version 2 takes plugins from one folder only. */
const linkPlugins = async (standard: string, helper: string, folder: string): Promise<void> => {
  for (const plugin of await readdir(standard)) {
    await symlink(join(standard, plugin), join(folder, plugin));
  }
  await symlink(helper, join(folder, EXTRA_INTERFACES_PLUGIN));
};

const writeCertificates = async (helper: string, directory: string): Promise<void> => {
  const users = Object.entries(DAEMON_USERS).map((pair) => pair.join('='));
  const result = await run([helper, 'certificates', directory, ...users], {
    timeoutMs: CERTIFICATES_TIMEOUT_MS,
  });
  if (result.code !== 0) throw new Error(`certificates of the node: ${result.stderr}`);
};
