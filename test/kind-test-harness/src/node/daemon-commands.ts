/** The command lines of the node's daemons. */
import { join } from 'node:path';

import type { Daemon, DaemonName } from './daemons.ts';
import { NODE_NAME, type NodeFiles } from './files.ts';
import type { NodePrograms } from './programs.ts';
import type { Machine } from './requirements.ts';
import type { Subnets } from './subnets.ts';

export type DaemonsInput = {
  machine: Machine;
  programs: NodePrograms;
  files: NodeFiles;
  subnets: Subnets;
  /** Folder of their logs. */
  logs: string;
};

export const createDaemons = (input: DaemonsInput): Record<DaemonName, Daemon> => {
  const { machine, programs, files, subnets, logs } = input;
  const daemon = (name: DaemonName, argv: readonly string[]): Daemon => ({
    name,
    argv,
    logFile: join(logs, `${name}.log`),
  });
  return {
    containerd: daemon('containerd', [
      machine.program('containerd'),
      '--config',
      files.containerdConfig,
    ]),
    kubelet: daemon('kubelet', [
      ...programs.kubernetes.command('kubelet'),
      `--config=${files.kubeletConfig}`,
      `--kubeconfig=${files.kubeconfig('kubelet')}`,
      `--hostname-override=${NODE_NAME}`,
      `--node-ip=${subnets.nodeAddress}`,
      '--v=2',
    ]),
    'kube-proxy': daemon('kube-proxy', [
      ...programs.kubernetes.command('kube-proxy'),
      `--kubeconfig=${files.kubeconfig('kube-proxy')}`,
      `--hostname-override=${NODE_NAME}`,
      '--proxy-mode=iptables',
      `--cluster-cidr=${subnets.pods}`,
      // Settings of the whole machine, which a node in a namespace must leave alone.
      '--conntrack-max-per-core=0',
      '--conntrack-tcp-timeout-established=0',
      '--conntrack-tcp-timeout-close-wait=0',
    ]),
    'cluster-dns': daemon('cluster-dns', [programs.clusterDns, '-conf', files.corefile]),
  };
};
