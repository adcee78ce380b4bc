/**
 * A coordinator as a process of its own against the real API server, in a namespace of its own, with pods that nobody runs and
 * agents that report what a test gives them. Only what a coordinator can see is simulated; tokens, watches and writes are real.
 */
import { connectCluster, type Cluster } from 'kind-test-harness';
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import * as z from 'zod';
import { createKubeClient, type KubeClient } from '#shared/kube/client.ts';
import { loadKubeConfig } from '#shared/kube/config.ts';
import type { ControlGroup } from '../../attacks/control-group.ts';
import { applyCrds } from '../support/crds.ts';
import { createAccount, type Rights } from './rights.ts';
import { createCa, issueServing } from '../../../coordinator/certificates/x509.ts';
import { COMPILE_CACHE } from '../../stack/compile-cache.ts';
import type { Manifest } from '../../stack/installation.ts';
import { programFile } from '../../stack/programs.ts';

/** Half a second on an idle machine. */
const START_TIMEOUT_MS = 60_000;
const DAY_MS = 86_400_000;

export type World = {
  cluster: Cluster;
  client: KubeClient;
  namespace: string;
  /** Namespace of the coordinator itself. */
  home: string;
  /** PEM of the CA that agents trust. */
  ca: string;
  /** At first a coordinator is up. */
  coordinator: CoordinatorProcess;
  /** Kills it without notice. */
  killCoordinator: () => Promise<void>;
  /** `env`: what differs this time. */
  startCoordinator: (env?: Readonly<Record<string, string>>) => Promise<void>;
  /** Of the coordinator on the API server. */
  rights: Rights;
  close: () => Promise<void>;
};

const lineSchema = z.looseObject({
  msg: z.string(),
  reportPort: z.number().optional(),
  httpPort: z.number().optional(),
  dashboardPort: z.number().optional(),
});
export type LogLine = z.infer<typeof lineSchema>;

export type CoordinatorProcess = {
  pid: number;
  reportUrl: string;
  httpUrl: string;
  /** Undefined: it has none. */
  dashboardUrl: string | undefined;
  /** Lines of its log, parsed. */
  log: readonly LogLine[];
  /** As a signal does that it survives. */
  send: (signal: NodeJS.Signals) => void;
  stop: (signal: NodeJS.Signals) => Promise<number | null>;
};

export type WorldOptions = {
  /** Default: that of the run. */
  cluster?: Cluster;
  silentAfterMs?: number;
  env?: Readonly<Record<string, string>>;
  /** Objects that give the coordinator more than an installation does; see `createAccount`. */
  grants?: readonly Manifest[];
  /** In which the coordinator runs. */
  group?: ControlGroup | undefined;
};

export const createWorld = async (options: WorldOptions = {}): Promise<World> => {
  const cluster = options.cluster ?? (await connectCluster());
  await applyCrds(cluster);
  const namespace = await cluster.createNamespace('coordinator');
  const client = createKubeClient({
    config: await loadKubeConfig({ kubeconfig: cluster.kubeconfig }),
  });
  const directory = await mkdtemp(join(tmpdir(), 'coordinator-'));
  const files = {
    cert: join(directory, 'tls.crt'),
    key: join(directory, 'tls.key'),
    kubeconfig: join(directory, 'kubeconfig'),
  };
  // Its own, with its Lease: Services there are not exposed with all others.
  const home = await cluster.createNamespace('coordinator-home');
  const rights = await createAccount(cluster, home, options.grants);
  await writeFile(files.kubeconfig, rights.kubeconfig, { mode: 0o600 });
  const validity = { issuedAt: Date.now(), lifetimeMs: DAY_MS };
  const ca = await createCa('test', validity);
  const serving = await issueServing(ca, ['127.0.0.1'], validity);
  await Promise.all([writeFile(files.cert, serving.cert), writeFile(files.key, serving.key)]);

  const start = (env: Readonly<Record<string, string>> = {}): Promise<CoordinatorProcess> =>
    startProcess(options.group, {
      KUBECONFIG: files.kubeconfig,
      SDEWAN_WATCH_NAMESPACE: namespace,
      POD_NAMESPACE: home,
      // The same pod again, whose container has restarted.
      POD_NAME: 'coordinator-a',
      SDEWAN_REPORT_HOST: '127.0.0.1',
      SDEWAN_REPORT_PORT: '0',
      SDEWAN_HTTP_HOST: '127.0.0.1',
      SDEWAN_HTTP_PORT: '0',
      SDEWAN_DRAIN_MS: '0',
      SDEWAN_TLS_CERT_FILE: files.cert,
      SDEWAN_TLS_KEY_FILE: files.key,
      SDEWAN_SILENT_AFTER_MS: String(options.silentAfterMs ?? 60_000),
      ...options.env,
      ...env,
    });
  const world: World = {
    cluster,
    client,
    namespace,
    home,
    ca: ca.cert,
    rights,
    coordinator: await start(),
    killCoordinator: async () => {
      await world.coordinator.stop('SIGKILL');
    },
    startCoordinator: async (env) => {
      world.coordinator = await start(env);
    },
    close: async () => {
      await world.coordinator.stop('SIGTERM');
      await client.close();
      await rm(directory, { recursive: true });
    },
  };
  return world;
};

const startProcess = async (
  group: ControlGroup | undefined,
  env: Record<string, string>,
): Promise<CoordinatorProcess> => {
  const command = [process.execPath, programFile('coordinator')];
  const [program = '', ...args] = group?.inside(command) ?? command;
  const child = spawn(program, args, {
    env: { PATH: process.env['PATH'], ...COMPILE_CACHE, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const log: LogLine[] = [];
  const exited = new Promise<number | null>((resolve) => {
    child.once('exit', resolve);
  });
  const started = Promise.withResolvers<LogLine>();
  createInterface({ input: child.stdout }).on('line', (line) => {
    const entry = lineSchema.parse(JSON.parse(line));
    log.push(entry);
    if (entry.httpPort !== undefined) started.resolve(entry);
  });
  const timeout = setTimeout(
    () => started.reject(new Error(`coordinator not up in ${START_TIMEOUT_MS} ms`)),
    START_TIMEOUT_MS,
  );
  void exited.then((code) => started.reject(new Error(`coordinator exited with ${code}`)));
  const { reportPort, httpPort, dashboardPort } = await started.promise.finally(() =>
    clearTimeout(timeout),
  );
  return {
    pid: child.pid ?? 0,
    reportUrl: `https://127.0.0.1:${reportPort}`,
    httpUrl: `http://127.0.0.1:${httpPort}`,
    dashboardUrl: dashboardPort === undefined ? undefined : `http://127.0.0.1:${dashboardPort}`,
    log,
    send: (signal) => void child.kill(signal),
    stop: (signal) => {
      child.kill(signal);
      return exited;
    },
  };
};
