/**
 * Reaching into a real node's pods and daemons from any of root's processes, by what the node wrote
 * down.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';

import type { NodeAccess } from '../backend.ts';
import { logsDirectory } from '../cluster.ts';
import type { ClusterRecord } from '../record.ts';
import { run } from '../run.ts';
import type { RealNode } from '../types.ts';
import { findContainer, findSandbox } from './containers.ts';
import { killDaemon, startDaemon, waitFor } from './daemons.ts';
import { nodeFiles, type NodeFiles } from './files.ts';
import { containerdAnswers, kubeletAnswers } from './health.ts';
import { requireInside, runInside } from './namespaces.ts';
import { importImages } from './node-images.ts';
import { nodeRecordFile, type NodeRecord } from './node-record.ts';
import { resolveIn } from './resolve.ts';

const EXEC_TIMEOUT_MS = 60_000;
const DAEMON_TIMEOUT_MS = 60_000;

export const nodeAccess = (cluster: ClusterRecord): NodeAccess => {
  const node: NodeRecord = JSON.parse(readFileSync(nodeRecordFile(cluster.directory), 'utf8'));
  const { initPid, runDirectory } = node;

  return {
    podDirectory: (namespace, pod) => {
      const uid = podUid(logsDirectory(cluster.directory), namespace, pod);
      return join(nodeFiles(runDirectory).kubelet, 'pods', uid);
    },
    killContainer: async (target, signal) => {
      const { pid } = await findContainer(initPid, target);
      // The shell's own `kill` understands every name without SIG.
      const script = `kill -${signal.replace(/^SIG/, '')} ${pid}`;
      await requireInside(initPid, ['sh', '-c', script]);
    },
    readFile: async (target, path) => {
      const { proc } = await findContainer(initPid, target);
      return await readFile(await resolveIn(join(proc, 'root'), path), 'utf8');
    },
    exec: async ({ namespace, pod, container }, argv) => {
      const exec = ['exec', `--namespace=${namespace}`, pod, `--container=${container}`];
      return await run([...cluster.kubectlCommand, ...exec, '--', ...argv], {
        env: { ...process.env, KUBECONFIG: cluster.kubeconfig },
        timeoutMs: EXEC_TIMEOUT_MS,
      });
    },
    loadImages: async (archives) => await importImages(node, archives),
    node: { ...realNode(node), addCniPlugin: addCniPlugin(nodeFiles(runDirectory)) },
  };
};

/** containerd looks at a file that is written, and not at one that is moved to its place. */
const addCniPlugin =
  (files: NodeFiles): RealNode['addCniPlugin'] =>
  async (program, configuration) => {
    const plugin = join(files.cniPlugins, basename(program));
    await rm(plugin, { force: true });
    await symlink(program, plugin);
    const pods: object = JSON.parse(await readFile(files.podNetwork, 'utf8'));
    const text = JSON.stringify(configuration(pods));
    await writeFile(join(files.otherCniConfigs, '10-other.conflist'), text);
  };

const realNode = ({ initPid, subnets, daemons }: NodeRecord): Omit<RealNode, 'addCniPlugin'> => ({
  hostAddress: subnets.hostAddress,
  inPodNetwork: async (target, argv) => {
    const { pid } = await findSandbox(initPid, target);
    return await runInside(initPid, ['nsenter', `--target=${pid}`, '--net', '--', ...argv]);
  },
  stopDaemon: async (name) => await killDaemon(initPid, daemons[name]),
  startDaemon: async (name) => {
    const answers = {
      containerd: async () => await containerdAnswers(initPid),
      kubelet: async () => await kubeletAnswers(subnets),
    };
    const daemon = daemons[name];
    await waitFor(daemon, startDaemon(initPid, daemon), answers[name], DAEMON_TIMEOUT_MS);
  },
  cgroup: async (target, controller) => {
    const { proc } = await findContainer(initPid, target);
    return cgroupDirectory(await readFile(join(proc, 'cgroup'), 'utf8'), controller);
  },
});

/** From /proc/PID/cgroup: a line per hierarchy of version 1, `0::/path` for version 2. */
export const cgroupDirectory = (membership: string, controller: string): string => {
  const lines = membership.split('\n').map((line) => line.split(':'));
  const line =
    lines.find(([, controllers = '']) => controllers.split(',').includes(controller)) ??
    lines.find(([hierarchy]) => hierarchy === '0');
  const [, controllers = '', path = ''] = line ?? [];
  return join('/sys/fs/cgroup', controllers, path);
};

/**
 * The kubelet names a pod's log folder `<namespace>_<name>_<uid>`; of several of one name the last
 * is the running one.
 */
const podUid = (logs: string, namespace: string, pod: string): string => {
  const prefix = `${namespace}_${pod}_`;
  const uid = readdirSync(logs)
    .filter((name) => name.startsWith(prefix))
    .map((name) => name.slice(prefix.length))
    .at(-1);
  if (uid === undefined) throw new Error(`pod ${namespace}/${pod} has not run on this node`);
  return uid;
};
