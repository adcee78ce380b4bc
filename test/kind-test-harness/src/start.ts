/** Starting a cluster, and joining one that another process started. */
import { cp, glob, mkdir } from 'node:fs/promises';
import { join } from 'node:path';

import type { ClusterBackend } from './backend.ts';
import { CLUSTER_VARIABLE, createCluster, imagesDirectory, logsDirectory } from './cluster.ts';
import { createGuardedDirectory, type GuardedDirectory } from './guardian/start.ts';
import { createImageStore } from './images.ts';
import { nodeBackend } from './node/backend.ts';
import { processBackend } from './process-kubelet/backend.ts';
import { CLUSTER_MARK } from './processes.ts';
import { createProgress } from './progress.ts';
import { readRecord, writeRecord } from './record.ts';
import type { Backend, Cluster, ClusterOptions } from './types.ts';

/**
 * Logs of all containers and programs are copied here, in a folder per cluster, before they vanish.
 */
const KEEP_LOGS_VARIABLE = 'KIND_TEST_HARNESS_KEEP_LOGS';

const BACKENDS: Readonly<Record<Backend, ClusterBackend>> = {
  process: processBackend,
  node: nodeBackend,
};

/**
 * Starts a cluster that lives as long as this process. Warm it takes 3 to 5 s; the first time ever,
 * the control plane is built. @throws with the end of the failing program's log.
 */
export const startCluster = async (options: ClusterOptions = {}): Promise<Cluster> => {
  requireLinux();
  const backend = BACKENDS[options.backend ?? 'process'];
  const progress = createProgress(options.onProgress);
  const guarded = await createGuardedDirectory();
  try {
    return await start(backend, guarded, options, progress.say);
  } catch (error) {
    await guarded.release();
    throw error;
  } finally {
    progress.end();
  }
};

/**
 * Joins the cluster whose folder is in `KIND_TEST_HARNESS_CLUSTER`. Its `stop` ends only what this
 * process opened.
 * @throws when the variable is absent or its cluster has ended.
 */
export const connectCluster = async (env: NodeJS.ProcessEnv = process.env): Promise<Cluster> => {
  const directory = env[CLUSTER_VARIABLE];
  if (!directory) throw new Error(`${CLUSTER_VARIABLE} is not set: no cluster to join`);
  const record = await readRecord(directory);
  return createCluster(record, BACKENDS[record.backend].access(record), async () => {});
};

const start = async (
  backend: ClusterBackend,
  guarded: GuardedDirectory,
  options: ClusterOptions,
  say: (line: string) => void,
): Promise<Cluster> => {
  const { id, directory, release } = guarded;
  const images = createImageStore(imagesDirectory(directory));
  images.register(options.images ?? {});
  await mkdir(logsDirectory(directory));
  const running = await backend.start({
    clusterId: id,
    directory,
    logsDirectory: logsDirectory(directory),
    images,
    imageArchives: options.imageArchives ?? [],
    apiServerArguments: options.apiServerArguments ?? [],
    nodes: options.nodes ?? 1,
    renewTokensAfterMs: options.renewTokensAfterMs,
    env: { ...process.env, [CLUSTER_MARK]: id }, // a build that goes on is ended with the rest
    say,
    signal: options.signal,
  });
  const record = {
    id,
    directory,
    backend: backend.name,
    kubeconfig: running.kubeconfig,
    server: running.server,
    kubectlCommand: running.kubectlCommand,
    reason: running.reason,
    ownerPid: process.pid,
    ownerDirectory: process.cwd(),
    startedAt: new Date().toISOString(),
  };
  await writeRecord(record);

  let stopping: Promise<void> | undefined;
  const stop = async () => {
    await running.stop();
    await keepLogs(directory, id);
    await release();
  };
  return createCluster(record, backend.access(record), async () => await (stopping ??= stop()));
};

const requireLinux = (): void => {
  if (process.platform === 'linux') return;
  throw new Error(
    `kind-test-harness runs on Linux (WSL too), this is ${process.platform}: use a Linux machine or container`,
  );
};

const keepLogs = async (directory: string, id: string): Promise<void> => {
  const target = process.env[KEEP_LOGS_VARIABLE];
  if (!target) return;
  for await (const log of glob('**/*.log', { cwd: directory })) {
    await cp(join(directory, log), join(target, id, log));
  }
};
