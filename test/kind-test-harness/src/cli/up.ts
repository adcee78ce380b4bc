/** `up`: a cluster for people, in this terminal or behind it. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';

import { CLUSTER_VARIABLE } from '../cluster.ts';
import { formatSeconds } from '../progress.ts';
import { startCluster } from '../start.ts';
import type { Backend, Cluster } from '../types.ts';

/** Between the terminal's process and the one behind it. */
type Message = { line: string } | { up: string } | { failed: string };

const MAIN_PROGRAM = join(import.meta.dirname, 'main.ts');

/** Resolves when the cluster is down again. */
export const up = async (backend: Backend): Promise<number> => {
  const startedAt = Date.now();
  const stopping = new AbortController();
  const ended = new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => {
        stopping.abort(new Error(`ended by ${signal}`));
        resolve();
      });
    }
  });

  let cluster: Cluster;
  try {
    cluster = await startCluster({
      backend,
      onProgress: (line) => tell({ line }),
      signal: stopping.signal,
    });
  } catch (error) {
    tell({ failed: error instanceof Error ? error.message : String(error) });
    return 1;
  }
  tell({ up: describe(cluster, Date.now() - startedAt) });
  if (process.connected) process.disconnect?.();
  else process.stdout.write('\nCtrl-C ends it and leaves nothing behind.\n');
  await ended;
  await cluster.stop();
  return 0;
};

/** Starts `up` in a process of its own and returns when the cluster is up. */
export const upDetached = async (args: readonly string[]): Promise<number> => {
  const child = spawn(process.execPath, [MAIN_PROGRAM, ...args], {
    detached: true,
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const code = await new Promise<number>((resolve) => {
    child.on('message', (message: Message) => {
      print(message);
      if ('up' in message) resolve(0);
    });
    child.on('exit', (exitCode) => resolve(exitCode ?? 1));
    child.on('error', () => resolve(1));
  });
  if (code === 0) {
    process.stdout.write('\nIt runs in the background: `npx kind-test-harness down` ends it.\n');
    child.unref();
    if (child.connected) child.disconnect();
  }
  return code;
};

const tell = (message: Message): void => {
  if (process.send) process.send(message);
  else print(message);
};

const print = (message: Message): void => {
  if ('line' in message) process.stderr.write(`${message.line}\n`);
  else if ('failed' in message) process.stderr.write(`kind-test-harness: ${message.failed}\n`);
  else process.stdout.write(message.up);
};

const describe = (cluster: Cluster, ms: number): string =>
  [
    `The cluster is up after ${formatSeconds(ms / 1000)}: ${cluster.server}`,
    '',
    `  export KUBECONFIG=${cluster.kubeconfig}`,
    '  npx kind-test-harness kubectl get pods --all-namespaces',
    '',
    'Tests use it instead of starting their own with',
    '',
    `  export ${CLUSTER_VARIABLE}=${cluster.env[CLUSTER_VARIABLE]}`,
    '',
  ].join('\n');
