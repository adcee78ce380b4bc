/**
 * Starts etcd, kube-apiserver, kube-controller-manager and kube-scheduler on loopback and waits
 * until they serve. All of their files are in the cluster's folder and all of their processes bear
 * its mark: the guardian ends them.
 */
import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { createKubeClient, type KubeClient } from '../kube/client.ts';
import { writeKubeconfig } from '../kube/kubeconfig.ts';
import { controlPlaneArguments, type Addresses } from './arguments.ts';
import { writeCredentials, type Credentials } from './credentials.ts';
import { findFreePorts } from './ports.ts';
import type { ProgramName, Programs } from './programs.ts';
import { createSupervisor, type Supervisor } from './supervisor.ts';

const START_TIMEOUT_MS = 60_000;
const POLL_MS = 25;
/** A random port can be taken between its choice and its use. */
const START_ATTEMPTS = 3;
const PORT_TAKEN = 'address already in use';

export type LaunchOptions = {
  programs: Programs;
  directory: string;
  clusterId: string;
  /** Where the API server listens and is reached. Default: 127.0.0.1 */
  host?: string;
  /** Flags of the `node` backend, per program, after the harness's own. */
  extraArguments?: Partial<Record<ProgramName, readonly string[]>>;
  signal?: AbortSignal | undefined;
};

export type ControlPlane = {
  server: string;
  /** PEM of what signs the API server's certificate. */
  ca: string;
  kubeconfig: string;
  client: KubeClient;
  /** The API server's own pair, PEM files. */
  servingPair: { certificateFile: string; keyFile: string };
  /** Programs that end are not started again, and the client is closed. */
  stop: () => Promise<void>;
};

/** Folder of the programs' data, logs and pid files. */
export const controlPlaneDirectory = (clusterDirectory: string): string =>
  join(clusterDirectory, 'control-plane');

/** Resolves when the API server is ready and the default namespace has its ServiceAccount. */
export const launchControlPlane = async (options: LaunchOptions): Promise<ControlPlane> => {
  for (let attempt = 1; ; attempt += 1) {
    const launch = await prepare(options);
    try {
      return await start(launch, options);
    } catch (error) {
      launch.supervisor.killAll();
      const portWasTaken = error instanceof Error && error.message.includes(PORT_TAKEN);
      if (attempt === START_ATTEMPTS || !portWasTaken) throw error;
    }
  }
};

type Launch = { addresses: Addresses; credentials: Credentials; supervisor: Supervisor };

const prepare = async (options: LaunchOptions): Promise<Launch> => {
  const directory = controlPlaneDirectory(options.directory);
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory);
  const [etcd = 0, peer = 0, api = 0] = await findFreePorts(3);
  const addresses = { host: options.host ?? '127.0.0.1', etcd, peer, api };
  const credentials = await writeCredentials(directory);
  const supervisor = createSupervisor({
    directory,
    clusterId: options.clusterId,
    commandLine: (program) => [
      ...options.programs.command(program),
      ...controlPlaneArguments(program, { directory, addresses, credentials }),
      ...(options.extraArguments?.[program] ?? []),
    ],
  });
  return { addresses, credentials, supervisor };
};

const start = async (
  { addresses, credentials, supervisor }: Launch,
  options: LaunchOptions,
): Promise<ControlPlane> => {
  const server = `https://${addresses.host}:${addresses.api}`;
  const deadline = Date.now() + START_TIMEOUT_MS;
  const until = async (what: string, done: () => Promise<boolean>): Promise<void> => {
    while (!(await done())) {
      options.signal?.throwIfAborted();
      const failure = await supervisor.failure();
      if (failure) throw new Error(failure);
      if (Date.now() > deadline) throw new Error(`timed out waiting for ${what}`);
      await sleep(POLL_MS);
    }
  };

  supervisor.start('etcd');
  supervisor.start('kube-apiserver');
  // The API server makes its own certificate in the first moments; the others need it as their CA.
  let ca = '';
  await until("the API server's certificate", async () => {
    ca = await readFile(credentials.servingCertificate, 'utf8').catch(() => '');
    return ca.includes('END CERTIFICATE');
  });
  const kubeconfig = join(options.directory, 'kubeconfig');
  await writeKubeconfig(kubeconfig, { server, ca, token: credentials.adminToken });
  await writeKubeconfig(credentials.kubeconfig, { server, ca, token: credentials.adminToken });
  const client = createKubeClient({ server, ca, token: credentials.adminToken });
  await until('the API server', async () => await client.isReady());
  // Not before: they end when the API server takes longer than ten seconds, as on a busy machine.
  supervisor.start('kube-controller-manager');
  supervisor.start('kube-scheduler');
  await until('the default ServiceAccount', async () => {
    const path = '/api/v1/namespaces/default/serviceaccounts/default';
    return (await client.find(path)) !== undefined;
  });
  supervisor.keepUp();
  return {
    server,
    ca,
    kubeconfig,
    client,
    servingPair: {
      certificateFile: credentials.servingCertificate,
      keyFile: credentials.servingKey,
    },
    stop: async () => {
      supervisor.letGo();
      await client.close();
    },
  };
};
