/**
 * The portable backend: a control plane of our own (or an existing one) and one node that runs
 * containers as local processes.
 */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';

import type { BackendContext, ClusterBackend, RunningBackend } from '../backend.ts';
import { findExistingCluster, type ExistingCluster } from '../control-plane/existing.ts';
import { findKubectl } from '../control-plane/kubectl.ts';
import { launchControlPlane } from '../control-plane/launch.ts';
import { choosePrograms } from '../control-plane/programs.ts';
import { createKubeClient } from '../kube/client.ts';
import { readKubeconfig } from '../kube/kubeconfig.ts';
import { processAccess } from './access.ts';
import { startKubelet, type KubeletOptions } from './kubelet.ts';
import { nodeNames, removeNode } from './node.ts';

export const processBackend: ClusterBackend = {
  name: 'process',
  access: processAccess,
  start: async (context) => {
    const { client, stop, servingPair, ...controlPlane } = await findOrLaunch(context);
    const log = join(context.logsDirectory, 'kubelet.log');
    const stopKubelet = await startKubelet({
      ...context,
      client,
      servingPair,
      server: controlPlane.server,
      onError: (error) => appendFileSync(log, `${new Date().toISOString()} ${inspect(error)}\n`),
    });
    return {
      ...controlPlane,
      stop: async () => {
        stopKubelet();
        await stop();
      },
    };
  },
};

type Found = RunningBackend & Pick<KubeletOptions, 'client' | 'servingPair'>;

const findOrLaunch = async (context: BackendContext): Promise<Found> => {
  const { env, say, signal } = context;
  const existing = await findExistingCluster(env, say);
  if (existing) return await joinExisting(existing, context);

  const programs = await choosePrograms({ env, say, signal });
  say(`control plane: ${programs.reason}`);
  const launched = await launchControlPlane({
    programs,
    directory: context.directory,
    clusterId: context.clusterId,
    extraArguments: { 'kube-apiserver': context.apiServerArguments },
    signal,
  });
  return {
    kubeconfig: launched.kubeconfig,
    server: launched.server,
    client: launched.client,
    servingPair: launched.servingPair,
    stop: launched.stop,
    kubectlCommand: programs.command('kubectl'),
    reason: programs.reason,
  };
};

/** What other nodes it has may get pods too, and can't run registered images. */
const joinExisting = async (
  { kubeconfig, server }: ExistingCluster,
  context: BackendContext,
): Promise<Found> => {
  const reason = `the existing cluster of KUBECONFIG, ${server}`;
  context.say(`control plane: ${reason}`);
  const client = createKubeClient(await readKubeconfig(kubeconfig));
  const kubectlCommand = await findKubectl(context);
  const stop = async () => {
    // The cluster may have ended before us.
    const removed = nodeNames(context.nodes).map(async (name) => await removeNode(client, name));
    await Promise.allSettled(removed);
    await client.close();
  };
  return { kubeconfig, server, client, stop, kubectlCommand, reason };
};
