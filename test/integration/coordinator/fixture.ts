/**
 * A coordinator as a process of its own against the real API server, in a namespace of its own,
 * with pods that no node runs and agents that report what a test gives them. Only what a
 * coordinator can see is simulated; tokens, watches and writes are real.
 */
import { connectCluster, type Cluster } from 'kind-test-harness';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createKubeClient, type KubeClient } from '#shared/kube/client.ts';
import { loadKubeConfig } from '#shared/kube/config.ts';
import type { ControlGroup } from '../../attacks/control-group.ts';
import { applyCrds } from '../support/crds.ts';
import { startCoordinatorProcess, type CoordinatorProcess } from '../support/process.ts';
import { createAccount, type Rights } from './rights.ts';
import { createCa, issueServing } from '../../../coordinator/controllers/certificates/x509.ts';
import type { Manifest } from '../../stack/installation.ts';

const DAY_MS = 86_400_000;

export type Fixture = {
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
  /** Requests of the coordinator on the API server. */
  rights: Rights;
  close: () => Promise<void>;
};

export type FixtureOptions = {
  /** Default: that of the run. */
  cluster?: Cluster;
  silentAfterMs?: number;
  env?: Readonly<Record<string, string>>;
  /** Objects that give the coordinator more than an installation does; see `createAccount`. */
  grants?: readonly Manifest[];
  /** In which the coordinator runs. */
  group?: ControlGroup | undefined;
};

export const createFixture = async (options: FixtureOptions = {}): Promise<Fixture> => {
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
    startCoordinatorProcess(options.group, {
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
  const fixture: Fixture = {
    cluster,
    client,
    namespace,
    home,
    ca: ca.cert,
    rights,
    coordinator: await start(),
    killCoordinator: async () => {
      await fixture.coordinator.stop('SIGKILL');
    },
    startCoordinator: async (env) => {
      fixture.coordinator = await start(env);
    },
    close: async () => {
      await fixture.coordinator.stop('SIGTERM');
      await client.close();
      await rm(directory, { recursive: true });
    },
  };
  return fixture;
};
