/**
 * The Cluster that users hold, made from its record alone: the owner and every process that joins
 * get the same.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';

import type { NodeAccess } from './backend.ts';
import { controlPlaneDirectory } from './control-plane/launch.ts';
import { signalProgram } from './control-plane/supervisor.ts';
import { createImageStore } from './images.ts';
import { createClusterApi } from './kube/api.ts';
import type { ClusterRecord } from './record.ts';
import { run } from './run.ts';
import type { Cluster } from './types.ts';

/** Only what hangs is ended. */
const KUBECTL_TIMEOUT_MS = 600_000;

/** The variable that leads test workers and other child processes to the cluster. */
export const CLUSTER_VARIABLE = 'KIND_TEST_HARNESS_CLUSTER';

export const imagesDirectory = (directory: string): string => join(directory, 'images');
export const logsDirectory = (directory: string): string => join(directory, 'logs');

export const createCluster = (
  record: ClusterRecord,
  access: NodeAccess,
  stop: () => Promise<void>,
): Cluster => {
  const images = createImageStore(imagesDirectory(record.directory));
  const { api, close } = createClusterApi(record.kubeconfig);

  const kubectl: Cluster['kubectl'] = async (args, options = {}) => {
    const result = await run([...record.kubectlCommand, ...args], {
      env: { ...process.env, KUBECONFIG: record.kubeconfig },
      timeoutMs: options.timeoutMs ?? KUBECTL_TIMEOUT_MS,
      ...(options.stdin !== undefined && { stdin: options.stdin }),
    });
    if (result.code !== 0 && !options.allowFailure) {
      const output = `${result.stdout}${result.stderr}`.trim();
      throw new Error(`kubectl ${args.join(' ')} exited with ${result.code}: ${output}`);
    }
    return result;
  };

  return {
    ...access,
    kubeconfig: record.kubeconfig,
    server: record.server,
    backend: record.backend,
    reason: record.reason,
    env: { [CLUSTER_VARIABLE]: record.directory },
    kubectlCommand: record.kubectlCommand,
    registerImages: images.register,
    api,
    kubectl,
    createNamespace: async (prefix) => {
      const name = `${prefix}-${randomBytes(3).toString('hex')}`;
      await kubectl(['create', 'namespace', name]);
      // Without its ServiceAccount, which comes a moment later, a namespace takes no pods.
      const isComplete = ['wait', '--for=create', 'serviceaccount/default', '--timeout=30s'];
      await kubectl(['--namespace', name, ...isComplete]);
      return name;
    },
    logsDirectory: logsDirectory(record.directory),
    signalControlPlane: async (program, signal) => {
      const directory = controlPlaneDirectory(record.directory);
      await signalProgram({ directory, clusterId: record.id }, program, signal);
    },
    stop: async () => {
      await close();
      await stop();
    },
  };
};
