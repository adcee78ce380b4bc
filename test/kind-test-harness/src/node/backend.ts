/**
 * The real node: kubelet, containerd, kube-proxy and CoreDNS in namespaces of their own on free subnets, beside the
 * harness's control plane, which listens on this machine's end of the link to them.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import type { BackendContext, ClusterBackend, RunningBackend } from '../backend.ts';
import { launchControlPlane, type ControlPlane } from '../control-plane/launch.ts';
import { nodeAccess } from './access.ts';
import { startDaemon, waitFor, type Daemon, type DaemonName } from './daemons.ts';
import { NODE_NAME, type NodeFiles } from './files.ts';
import { containerdAnswers } from './health.ts';
import { startNamespaces, type Namespaces } from './namespaces.ts';
import { connectNode } from './network.ts';
import { chooseSnapshotter, importImages } from './node-images.ts';
import { writeNodeRecord } from './node-record.ts';
import { prepareFiles, writeKubeconfigs } from './prepare.ts';
import { prepareNodePrograms, type NodePrograms } from './programs.ts';
import { requireMachine, type Machine } from './requirements.ts';
import type { Subnets } from './subnets.ts';

const CONTAINERD_TIMEOUT_MS = 30_000;
const READY_TIMEOUT_MS = 60_000;
const POLL_MS = 50;

export const nodeBackend: ClusterBackend = {
  name: 'node',
  access: nodeAccess,
  start: async (context) => {
    const machine = await requireMachine(context);
    const programs = await prepareNodePrograms(context);
    const logs = join(context.directory, 'node');
    await mkdir(logs);
    const namespaces = await startNamespaces({
      helper: programs.helper,
      podLogsDirectory: context.logsDirectory,
      logFile: join(logs, 'guard.log'),
    });
    try {
      return await start({ context, machine, programs, namespaces, logs });
    } catch (error) {
      await namespaces.release();
      throw error;
    }
  },
};

type StartInput = {
  context: BackendContext;
  machine: Machine;
  programs: NodePrograms;
  namespaces: Namespaces;
  /** Folder of the daemons' logs. */
  logs: string;
};

const start = async (input: StartInput): Promise<RunningBackend> => {
  const { context, machine, programs, namespaces, logs } = input;
  const { initPid, runDirectory } = namespaces;
  const subnets = await connectNode(initPid);
  const snapshotter = await chooseSnapshotter(initPid, runDirectory);
  const { helper } = programs;
  const files = await prepareFiles({ runDirectory, helper, machine, subnets, snapshotter });
  const daemons = createDaemons({ machine, programs, files, subnets, logs });

  const startContainerd = async () => {
    const child = startDaemon(initPid, daemons.containerd);
    const isUp = async () => await containerdAnswers(initPid);
    await waitFor(daemons.containerd, child, isUp, CONTAINERD_TIMEOUT_MS);
    const archives = [programs.pauseImage, ...context.imageArchives];
    await importImages({ initPid, runDirectory, snapshotter }, archives);
  };
  const [controlPlane] = await Promise.all([
    launchForNode(context, programs, files, subnets),
    startContainerd(),
  ]);
  await writeKubeconfigs(files, controlPlane);
  const kubelet = startDaemon(initPid, daemons.kubelet);
  startDaemon(initPid, daemons['kube-proxy']);
  startDaemon(initPid, daemons['cluster-dns']);
  const isReady = async () => await nodeIsReady(controlPlane);
  await waitFor(daemons.kubelet, kubelet, isReady, READY_TIMEOUT_MS);
  await writeNodeRecord(context.directory, {
    initPid,
    runDirectory,
    subnets,
    snapshotter,
    daemons,
  });

  return {
    kubeconfig: controlPlane.kubeconfig,
    server: controlPlane.server,
    kubectlCommand: programs.kubernetes.command('kubectl'),
    reason: programs.kubernetes.reason,
    stop: async () => {
      await namespaces.release();
      await controlPlane.stop();
    },
  };
};

const launchForNode = async (
  { directory, clusterId, signal }: BackendContext,
  { kubernetes }: NodePrograms,
  { certificates }: NodeFiles,
  { hostAddress, services }: Subnets,
): Promise<ControlPlane> =>
  await launchControlPlane({
    programs: kubernetes,
    directory,
    clusterId,
    host: hostAddress,
    extraArguments: {
      'kube-apiserver': [
        `--service-cluster-ip-range=${services}`,
        '--authorization-mode=Node', // is added to RBAC
        '--enable-admission-plugins=NodeRestriction',
        `--client-ca-file=${certificates}/ca.crt`,
        `--kubelet-client-certificate=${certificates}/apiserver.crt`,
        `--kubelet-client-key=${certificates}/apiserver.key`,
      ],
    },
    signal,
  });

const createDaemons = (input: {
  machine: Machine;
  programs: NodePrograms;
  files: NodeFiles;
  subnets: Subnets;
  logs: string;
}): Record<DaemonName, Daemon> => {
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

/** Ready, and without the taint that keeps pods away from a node that just came. */
const nodeIsReady = async ({ client }: ControlPlane): Promise<boolean> => {
  await sleep(POLL_MS);
  const node = await client.find<{
    spec: { taints?: unknown[] };
    status: { conditions?: { type: string; status: string }[] };
  }>(`/api/v1/nodes/${NODE_NAME}`);
  const isReady = node?.status.conditions?.some(
    ({ type, status }) => type === 'Ready' && status === 'True',
  );
  return isReady === true && (node?.spec.taints ?? []).length === 0;
};
