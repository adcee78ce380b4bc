/** The portable backend: a control plane of our own (or an existing one) and one node that runs containers as local processes. */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';

import type { BackendContext, ClusterBackend, RunningBackend } from '../backend.ts';
import { findExistingCluster } from '../control-plane/existing.ts';
import { launchControlPlane } from '../control-plane/launch.ts';
import { choosePrograms } from '../control-plane/programs.ts';
import { createKubeClient } from '../kube/client.ts';
import { readKubeconfig } from '../kube/kubeconfig.ts';
import { run } from '../run.ts';
import { processAccess } from './access.ts';
import { startKubelet } from './kubelet.ts';

export const processBackend: ClusterBackend = {
  name: 'process',
  access: processAccess,
  start: async (context) => {
    const { client, ...controlPlane } = await findOrLaunch(context);
    const log = join(context.logsDirectory, 'kubelet.log');
    const stopKubelet = await startKubelet({
      ...context,
      client,
      server: controlPlane.server,
      onError: (error) => appendFileSync(log, `${new Date().toISOString()} ${inspect(error)}\n`),
    });
    return {
      ...controlPlane,
      stop: async () => {
        stopKubelet();
        await client.close();
      },
    };
  },
};

type Found = Omit<RunningBackend, 'stop'> & { client: ReturnType<typeof createKubeClient> };

const findOrLaunch = async (context: BackendContext): Promise<Found> => {
  const { env, say, signal } = context;
  const existing = await findExistingCluster(env, say);
  if (existing) {
    const reason = `the cluster of KUBECONFIG, ${existing.server}`;
    say(`control plane: ${reason}`);
    return {
      ...existing,
      reason,
      client: createKubeClient(await readKubeconfig(existing.kubeconfig)),
      kubectlCommand: await findKubectl(context),
    };
  }

  const programs = await choosePrograms({ env, say, signal });
  say(`control plane: ${programs.reason}`);
  const launched = await launchControlPlane({
    programs,
    directory: context.directory,
    clusterId: context.clusterId,
    signal,
  });
  return {
    kubeconfig: launched.kubeconfig,
    server: launched.server,
    client: launched.client,
    reason: programs.reason,
    kubectlCommand: programs.command('kubectl'),
  };
};

/** With an existing cluster only kubectl is needed, and most who have one have it on PATH. */
const findKubectl = async ({ env, say, signal }: BackendContext): Promise<readonly string[]> => {
  try {
    await run(['kubectl', 'version', '--client'], { timeoutMs: 30_000 });
    return ['kubectl'];
  } catch {
    const programs = await choosePrograms({ env, say, signal });
    return programs.command('kubectl');
  }
};
