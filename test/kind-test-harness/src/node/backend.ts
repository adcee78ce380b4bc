/**
 * The real node: kubelet, containerd, kube-proxy and CoreDNS in namespaces of their own on free
 * subnets, beside the harness's control plane, which listens on this machine's end of the link to
 * them.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import type { BackendContext, ClusterBackend } from '../backend.ts';
import { launchControlPlane, type ControlPlane } from '../control-plane/launch.ts';
import { nodeAccess } from './access.ts';
import { createDaemons } from './daemon-commands.ts';
import { startDaemon, waitFor, type Daemon, type DaemonName } from './daemons.ts';
import { NODE_NAME, type NodeFiles } from './files.ts';
import { containerdAnswers } from './health.ts';
import { startNamespaces, type Namespaces } from './namespaces.ts';
import { connectNode } from './network.ts';
import { chooseSnapshotter, importImages } from './node-images.ts';
import { writeNodeRecord, type NodeRecord } from './node-record.ts';
import { prepareFiles, writeKubeconfigs } from './prepare.ts';
import { prepareNodePrograms, type NodePrograms } from './programs.ts';
import { requireMachine, type Machine } from './requirements.ts';

const CONTAINERD_TIMEOUT_MS = 30_000;
const READY_TIMEOUT_MS = 60_000;
const POLL_MS = 50;

export const nodeBackend: ClusterBackend = {
  name: 'node',
  access: nodeAccess,
  start: async (context) => {
    await using undo = new AsyncDisposableStack();
    const machine = await requireMachine(context);
    const programs = await prepareNodePrograms(context);
    const logs = join(context.directory, 'node');
    await mkdir(logs);
    const namespaces = await startNamespaces({
      helper: programs.helper,
      podLogsDirectory: context.logsDirectory,
      logFile: join(logs, 'guard.log'),
    });
    undo.defer(namespaces.release);

    const prepared = await prepare({ context, machine, programs, namespaces, logs });
    const launching = createLaunch(context, programs, prepared);
    undo.defer(launching.end);
    const [controlPlane] = await Promise.all([
      launching.controlPlane,
      startContainerd(context, programs, prepared),
    ]);
    await startKubernetes(prepared, controlPlane);
    await writeNodeRecord(context.directory, prepared);

    const started = undo.move();
    return {
      kubeconfig: controlPlane.kubeconfig,
      server: controlPlane.server,
      kubectlCommand: programs.kubernetes.command('kubectl'),
      reason: programs.kubernetes.reason,
      stop: async () => {
        await started.disposeAsync();
      },
    };
  },
};

type Prepared = NodeRecord & { files: NodeFiles; daemons: Record<DaemonName, Daemon> };

const prepare = async (input: {
  context: BackendContext;
  machine: Machine;
  programs: NodePrograms;
  namespaces: Namespaces;
  logs: string;
}): Promise<Prepared> => {
  const { machine, programs, namespaces, logs } = input;
  const { initPid, runDirectory } = namespaces;
  const subnets = await connectNode(initPid);
  const snapshotter = await chooseSnapshotter(initPid, runDirectory);
  const { helper } = programs;
  const files = await prepareFiles({ runDirectory, helper, machine, subnets, snapshotter });
  const daemons = createDaemons({ machine, programs, files, subnets, logs });
  return { initPid, runDirectory, subnets, snapshotter, files, daemons };
};

/** The control plane, on its way up; `end` stops it or breaks off its start. */
const createLaunch = (
  context: BackendContext,
  programs: NodePrograms,
  prepared: Prepared,
): { controlPlane: Promise<ControlPlane>; end: () => Promise<void> } => {
  const breakOff = new AbortController();
  const signals = context.signal ? [context.signal, breakOff.signal] : [breakOff.signal];
  const controlPlane = launchControlPlane({
    programs: programs.kubernetes,
    directory: context.directory,
    clusterId: context.clusterId,
    host: prepared.subnets.hostAddress,
    extraArguments: { 'kube-apiserver': apiServerArguments(prepared) },
    signal: AbortSignal.any(signals),
  });
  return {
    controlPlane,
    end: async () => {
      breakOff.abort();
      await controlPlane.then(
        async ({ stop }) => await stop(),
        () => {}, // callers that wait for it get the error
      );
    },
  };
};

const apiServerArguments = ({ subnets, files }: Prepared): string[] => [
  `--service-cluster-ip-range=${subnets.services}`,
  '--authorization-mode=Node', // is added to RBAC
  '--enable-admission-plugins=NodeRestriction',
  '--allow-privileged=true',
  `--client-ca-file=${files.certificates}/ca.crt`,
  `--kubelet-client-certificate=${files.certificates}/apiserver.crt`,
  `--kubelet-client-key=${files.certificates}/apiserver.key`,
  '--kubelet-preferred-address-types=InternalIP',
];

const startContainerd = async (
  { imageArchives }: BackendContext,
  { pauseImage }: NodePrograms,
  node: Prepared,
): Promise<void> => {
  const { initPid, daemons } = node;
  const child = startDaemon(initPid, daemons.containerd);
  const isUp = async () => await containerdAnswers(initPid);
  await waitFor(daemons.containerd, child, isUp, CONTAINERD_TIMEOUT_MS);
  await importImages(node, [pauseImage, ...imageArchives]);
};

/** Resolves when pods can be scheduled. */
const startKubernetes = async (
  { initPid, files, daemons }: Prepared,
  controlPlane: ControlPlane,
): Promise<void> => {
  await writeKubeconfigs(files, controlPlane);
  const kubelet = startDaemon(initPid, daemons.kubelet);
  startDaemon(initPid, daemons['kube-proxy']);
  startDaemon(initPid, daemons['cluster-dns']);
  const isReady = async () => await nodeIsReady(controlPlane);
  await waitFor(daemons.kubelet, kubelet, isReady, READY_TIMEOUT_MS);
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
