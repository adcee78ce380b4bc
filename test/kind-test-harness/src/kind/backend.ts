/**
 * kind, where a Docker engine answers: thin, since kind does the work. Untested where this was written; its command lines
 * are. A cluster whose harness was killed stays until the next start of this backend.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';

import type { BackendContext, ClusterBackend } from '../backend.ts';
import { findKubectl } from '../control-plane/kubectl.ts';
import { readKubeconfig } from '../kube/kubeconfig.ts';
import { clustersDirectory } from '../paths.ts';
import { run } from '../run.ts';
import { kindAccess } from './access.ts';
import {
  COMMANDS,
  createCommand,
  deleteCommand,
  labelCommand,
  loadCommand,
  ownClusterIds,
} from './commands.ts';

const PROBE_TIMEOUT_MS = 20_000;
/** The first time, kind fetches a node image of about 1 GB. */
const CREATE_TIMEOUT_MS = 900_000;
const COMMAND_TIMEOUT_MS = 120_000;

export const kindBackend: ClusterBackend = {
  name: 'kind',
  access: kindAccess,
  start: async (context) => {
    const { clusterId, imageArchives, say } = context;
    await requireKind();
    await deleteAbandoned();
    const kubectlCommand = await findKubectl(context);
    const kubeconfig = join(context.directory, 'kubeconfig');
    say('creating a kind cluster');
    const stop = async () => {
      await must(deleteCommand(clusterId));
    };
    try {
      await must(createCommand(clusterId, kubeconfig), context, CREATE_TIMEOUT_MS);
      await must(
        labelCommand(clusterId, [...kubectlCommand, `--kubeconfig=${kubeconfig}`]),
        context,
      );
      for (const archive of imageArchives) await must(loadCommand(clusterId, archive), context);
      const { server } = await readKubeconfig(kubeconfig);
      return { kubeconfig, server, kubectlCommand, reason: 'kind, with Docker', stop };
    } catch (error) {
      await stop().catch(() => {}); // the first error tells more
      throw error;
    }
  },
};

const requireKind = async (): Promise<void> => {
  if (!(await succeeds(COMMANDS.engineAnswers))) {
    throw new Error('the backend "kind" needs a Docker engine, and none answers `docker version`');
  }
  if (!(await succeeds(COMMANDS.kindVersion))) {
    throw new Error('the backend "kind" needs kind on PATH: https://kind.sigs.k8s.io');
  }
};

/** Clusters of ours whose folder is gone: their harness was killed. */
const deleteAbandoned = async (): Promise<void> => {
  const { stdout } = await run(COMMANDS.list, { env: process.env, timeoutMs: COMMAND_TIMEOUT_MS });
  for (const id of ownClusterIds(stdout)) {
    if (!existsSync(join(clustersDirectory(), id))) await must(deleteCommand(id));
  }
};

const succeeds = async (command: readonly string[]): Promise<boolean> =>
  await run(command, { env: process.env, timeoutMs: PROBE_TIMEOUT_MS }).then(
    ({ code }) => code === 0,
    () => false,
  );

const must = async (
  command: readonly string[],
  context?: Pick<BackendContext, 'signal'>,
  timeoutMs = COMMAND_TIMEOUT_MS,
): Promise<void> => {
  const result = await run(command, { env: process.env, timeoutMs, signal: context?.signal });
  if (result.code !== 0) throw new Error(`${command.join(' ')}: ${result.stderr.slice(-2000)}`);
};
