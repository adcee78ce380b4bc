/**
 * Starts etcd, kube-apiserver, kube-controller-manager and kube-scheduler on loopback and waits until they serve.
 * All of their files are in the cluster's folder and all of their processes bear its mark: the guardian ends them.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { createKubeClient, type KubeClient } from '../kube/client.ts';
import { writeKubeconfig } from '../kube/kubeconfig.ts';
import { CLUSTER_MARK, sendSignal } from '../processes.ts';
import { controlPlaneArguments, type Addresses } from './arguments.ts';
import { writeCredentials } from './credentials.ts';
import { findFreePorts } from './ports.ts';
import type { ProgramName, Programs } from './programs.ts';

const START_TIMEOUT_MS = 60_000;
const POLL_MS = 25;
/** A random port can be taken between its choice and its use. */
const START_ATTEMPTS = 3;

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
  /** For faults: SIGSTOP freezes a program, SIGKILL ends it until `restart`. */
  signal: (program: ProgramName, signal: NodeJS.Signals) => void;
  /** Starts an ended program again, with the same ports and data. */
  restart: (program: ProgramName) => void;
};

/** Resolves when the API server is ready and the default namespace has its ServiceAccount. */
export const launchControlPlane = async (options: LaunchOptions): Promise<ControlPlane> => {
  for (let attempt = 1; ; attempt += 1) {
    const launch = await prepare(options, attempt);
    try {
      return await start(launch, options);
    } catch (cause) {
      launch.killAll();
      if (attempt === START_ATTEMPTS || !(await launch.portWasTaken())) throw cause;
    }
  }
};

type Launch = {
  addresses: Addresses;
  credentials: Awaited<ReturnType<typeof writeCredentials>>;
  startProgram: (program: ProgramName) => void;
  signalProgram: (program: ProgramName, signal: NodeJS.Signals) => void;
  killAll: () => void;
  /** Which program ended though nobody ended it, with the end of its log. */
  failure: () => Promise<string | undefined>;
  portWasTaken: () => Promise<boolean>;
};

const prepare = async (options: LaunchOptions, attempt: number): Promise<Launch> => {
  const directory = join(options.directory, `control-plane-${attempt}`);
  await mkdir(directory);
  const [etcd = 0, peer = 0, api = 0] = await findFreePorts(3);
  const addresses = { host: options.host ?? '127.0.0.1', etcd, peer, api };
  const credentials = await writeCredentials(directory);
  const children = new Map<ProgramName, ChildProcess>();
  const logFile = (program: ProgramName) => join(directory, `${program}.log`);

  return {
    addresses,
    credentials,
    startProgram: (program) => {
      const [file = '', ...prefix] = options.programs.command(program);
      const own = controlPlaneArguments(program, { directory, addresses, credentials });
      const log = openSync(logFile(program), 'a');
      const child = spawn(file, [...prefix, ...own, ...(options.extraArguments?.[program] ?? [])], {
        cwd: directory,
        env: { PATH: process.env['PATH'], HOME: directory, [CLUSTER_MARK]: options.clusterId },
        detached: true, // the terminal's Ctrl-C must not end it before the harness has stopped its users
        stdio: ['ignore', log, log],
      });
      closeSync(log);
      child.on('error', () => {}); // seen by `failure`: it has neither pid nor exit code
      child.unref();
      children.set(program, child);
    },
    signalProgram: (program, signal) => {
      const pid = children.get(program)?.pid;
      if (pid !== undefined) sendSignal(pid, signal);
    },
    killAll: () => {
      for (const child of children.values()) child.kill('SIGKILL');
    },
    failure: async () => {
      const ended = [...children].find(([, child]) => !isRunning(child));
      if (!ended) return undefined;
      const log = await readFile(logFile(ended[0]), 'utf8');
      return `${ended[0]} ended with ${ended[1].exitCode ?? ended[1].signalCode}:\n${log.slice(-3000)}`;
    },
    portWasTaken: async () => {
      const logs = await Promise.all(
        [...children.keys()].map(async (program) => await readFile(logFile(program), 'utf8')),
      );
      return logs.some((log) => log.includes('address already in use'));
    },
  };
};

const isRunning = (child: ChildProcess): boolean =>
  child.pid !== undefined && child.exitCode === null && child.signalCode === null;

const start = async (launch: Launch, options: LaunchOptions): Promise<ControlPlane> => {
  const { addresses, credentials } = launch;
  const server = `https://${addresses.host}:${addresses.api}`;
  const deadline = Date.now() + START_TIMEOUT_MS;
  const until = async (what: string, done: () => Promise<boolean>): Promise<void> => {
    while (!(await done())) {
      options.signal?.throwIfAborted();
      const failure = await launch.failure();
      if (failure) throw new Error(failure);
      if (Date.now() > deadline) throw new Error(`timed out waiting for ${what}`);
      await sleep(POLL_MS);
    }
  };

  launch.startProgram('etcd');
  launch.startProgram('kube-apiserver');
  // The API server makes its own certificate in the first moments; the others need it as their CA.
  let ca = '';
  await until("the API server's certificate", async () => {
    ca = await readFile(credentials.servingCertificate, 'utf8').catch(() => '');
    return ca.includes('END CERTIFICATE');
  });
  const kubeconfig = join(options.directory, 'kubeconfig');
  await writeKubeconfig(kubeconfig, { server, ca, token: credentials.adminToken });
  await writeKubeconfig(credentials.kubeconfig, { server, ca, token: credentials.adminToken });
  launch.startProgram('kube-controller-manager');
  launch.startProgram('kube-scheduler');

  const client = createKubeClient({ server, ca, token: credentials.adminToken });
  await until('the API server', async () => await client.isReady());
  await until('the default ServiceAccount', async () => {
    const path = '/api/v1/namespaces/default/serviceaccounts/default';
    return (await client.find(path)) !== undefined;
  });
  return {
    server,
    ca,
    kubeconfig,
    client,
    signal: launch.signalProgram,
    restart: launch.startProgram,
  };
};
