/**
 * A coordinator as a process of its own, with the rights of its service account, and the real
 * webhook configurations and policies on the real API server. Nothing of admission is simulated.
 */
import { connectCluster, type Cluster, type KubectlResult } from 'kind-test-harness';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import { objectSchema } from '#shared/kube/objects.ts';
import { createKubeClient, type KubeClient } from '#shared/kube/client.ts';
import { loadKubeConfig } from '#shared/kube/config.ts';
import { applyCrds } from '../support/crds.ts';
import {
  START_TIMEOUT_MS,
  startCoordinatorProcess,
  type CoordinatorProcess,
  type LogLine,
} from '../support/process.ts';
import type { ControlGroup } from '../../attacks/control-group.ts';
import { manifestsOf, TEST_LABEL, webhookConfigurationOf, type Installation } from './overlay.ts';
import { listOf } from '../../stack/installation.ts';
import { kubeconfigOf as serviceAccountKubeconfig } from '../../stack/service-account.ts';

const namespaces = {
  group: '',
  version: 'v1',
  plural: 'namespaces',
  kind: 'Namespace',
  schema: objectSchema,
};
const COORDINATOR = 'sdewan-coordinator';

export type Fixture = {
  cluster: Cluster;
  /** system:masters */
  client: KubeClient;
  systemNamespace: string;
  /** `https://127.0.0.1:port` */
  url: string;
  httpUrl: () => string;
  /** The environment of the coordinator's process. */
  pid: () => number;
  /** Lines of the coordinator's log, parsed; of all its lives. */
  log: LogLine[];
  /** A namespace that the webhooks look at. */
  createNamespace: (annotations?: Record<string, string>) => Promise<string>;
  /** `kubectl apply` of objects; the result also when it is refused. */
  apply: (objects: readonly object[], ...flags: string[]) => Promise<KubectlResult>;
  kubectl: (...args: string[]) => Promise<KubectlResult>;
  /** That user, by impersonation. */
  clientAs: (username: string, groups?: readonly string[]) => KubeClient;
  /** A kubeconfig with the token of a service account. */
  kubeconfigOf: (namespace: string, account: string) => Promise<string>;
  stopCoordinator: () => Promise<void>;
  startCoordinator: () => Promise<void>;
  close: () => Promise<void>;
};

/**
 * Where the machine of the tests is slower than its second or two, a webhook that fails open is not
 * asked, without a word, and one that fails closed refuses.
 */
const PATIENCE_SECONDS = 10;

/** An API server that shares two cores with other tests was seen to take longer than 15 seconds. */
const ANSWER_MS = 120_000;

const BINDING = 'ValidatingAdmissionPolicyBinding';

/**
 * `group`: in which the coordinator runs. `patienceSeconds`: of webhooks; undefined: as in the
 * manifests.
 */
export const createFixture = async (
  env: Record<string, string> = {},
  group?: ControlGroup,
  installation: Pick<Installation, 'patienceSeconds'> = {
    patienceSeconds: PATIENCE_SECONDS,
  },
): Promise<Fixture> => {
  const cluster = await connectCluster();
  await applyCrds(cluster);
  const systemNamespace = await cluster.createNamespace('admission');
  const port = await freePort();
  const url = `https://127.0.0.1:${port}`;
  const config = await loadKubeConfig({ kubeconfig: cluster.kubeconfig });
  const client = createKubeClient({ config, timeoutMs: ANSWER_MS });
  const clients = [client];
  const directory = await mkdtemp(join(tmpdir(), 'admission-'));
  const log: LogLine[] = [];
  const kubectl = (args: readonly string[], stdin?: string): Promise<KubectlResult> =>
    cluster.kubectl(args, { allowFailure: true, ...(stdin !== undefined && { stdin }) });

  const kubeconfigOf = async (namespace: string, account: string): Promise<string> => {
    const path = join(directory, `${namespace}-${account}.yaml`);
    await writeFile(path, await serviceAccountKubeconfig(cluster, namespace, account));
    return path;
  };

  const objects = await manifestsOf(cluster, { systemNamespace, url, ...installation });
  await cluster.kubectl(['apply', '-f', '-'], { stdin: listOf(objects) });
  const bindings = objects.flatMap(({ kind, metadata: { name } }) =>
    kind === BINDING ? name : [],
  );
  const kubeconfig = await kubeconfigOf(systemNamespace, COORDINATOR);

  let process: CoordinatorProcess | undefined;
  const fixture: Fixture = {
    cluster,
    client,
    systemNamespace,
    url,
    httpUrl: () => process?.httpUrl ?? '',
    pid: () => process?.pid ?? 0,
    log,
    createNamespace: async (annotations = {}) => {
      const name = `cnf-${randomBytes(4).toString('hex')}`;
      const metadata = { name, labels: { [TEST_LABEL]: systemNamespace }, annotations };
      await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata });
      // It comes a moment later, and without it the namespace takes no pods.
      const account = `/api/v1/namespaces/${name}/serviceaccounts/default`;
      await until(async () => (await cluster.api.find(account)) !== undefined);
      return name;
    },
    apply: (objects, ...flags) => kubectl(['apply', ...flags, '-f', '-'], listOf(objects)),
    kubectl: (...args) => kubectl(args),
    clientAs: (username, groups = []) => {
      const headers = async (): Promise<Record<string, string>> => ({
        ...(await config.headers()),
        'impersonate-user': username,
        // One header may hold one group; the test needs no more.
        ...(groups[0] !== undefined && { 'impersonate-group': groups[0] }),
      });
      const impersonating = createKubeClient({ config: { ...config, headers } });
      clients.push(impersonating);
      return impersonating;
    },
    kubeconfigOf,
    stopCoordinator: async () => {
      await process?.stop('SIGTERM');
      process = undefined;
    },
    startCoordinator: async () => {
      process = await startCoordinatorProcess(
        group,
        {
          KUBECONFIG: kubeconfig,
          POD_NAMESPACE: systemNamespace,
          SDEWAN_REPORT_HOST: '127.0.0.1',
          SDEWAN_REPORT_PORT: String(port),
          SDEWAN_HTTP_HOST: '127.0.0.1',
          SDEWAN_HTTP_PORT: '0',
          SDEWAN_DRAIN_MS: '0',
          SDEWAN_CERTIFICATE_NAMES: '127.0.0.1',
          SDEWAN_WEBHOOK_CONFIGURATION: webhookConfigurationOf(systemNamespace),
          SDEWAN_AGENT_COORDINATOR_URL: url,
          ...env,
        },
        log,
      );
      await until(async () => (await fetch(`${process?.httpUrl}/readyz`)).ok);
    },
    close: async () => {
      await fixture.stopCoordinator();
      for (const kind of ['validatingwebhookconfiguration', 'mutatingwebhookconfiguration'])
        await kubectl(['delete', kind, webhookConfigurationOf(systemNamespace)]);
      // Those about objects of the cluster would refuse what the next coordinator writes.
      await kubectl(['delete', BINDING, ...bindings]);
      await Promise.all(clients.map((each) => each.close()));
      await rm(directory, { recursive: true });
    },
  };
  try {
    await fixture.startCoordinator();
  } catch (error) {
    await fixture.close();
    throw error;
  }
  return fixture;
};

const until = async (holds: () => Promise<boolean>): Promise<void> => {
  const giveUpAt = performance.now() + START_TIMEOUT_MS;
  while (!(await holds().catch(() => false))) {
    if (performance.now() > giveUpAt) throw new Error('the fixture does not become ready');
    await sleep(50);
  }
};

const freePort = async (): Promise<number> => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = z.object({ port: z.number() }).parse(server.address());
  await new Promise((resolve) => server.close(resolve));
  return port;
};
