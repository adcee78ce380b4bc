import { createKubeClient, type KubeClient } from '#shared/kube/client.ts';
import { loadKubeConfig, type KubeConfig } from '#shared/kube/config.ts';
import { objectSchema, type KubeObject, type ResourceType } from '#shared/kube/objects.ts';
import { Reflector, type ReflectorOptions } from '#shared/kube/informer/reflector.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { connectCluster, type Cluster } from 'kind-test-harness';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { TcpProxy } from '../faults/tcp-proxy.ts';

const configMaps: ResourceType = {
  group: '',
  version: 'v1',
  plural: 'configmaps',
  kind: 'ConfigMap',
  schema: objectSchema,
};

let cluster: Cluster;
let adminConfig: KubeConfig;
let admin: KubeClient;
let namespace: string;
let cleanUp: (() => unknown)[];

beforeAll(async () => {
  cluster = await connectCluster();
  adminConfig = await loadKubeConfig({ kubeconfig: cluster.kubeconfig });
  admin = createKubeClient({ config: adminConfig, timeoutMs: 300_000 });
});

afterAll(() => admin.close());

beforeEach(async () => {
  namespace = await cluster.createNamespace('reflector');
  cleanUp = [];
});

afterEach(async () => {
  for (const clean of cleanUp.reverse()) await clean();
  await cluster.kubectl(['delete', 'namespace', namespace, '--wait=false']);
});

const until = (condition: () => unknown, timeout = 15_000): Promise<unknown> =>
  vi.waitUntil(condition, { timeout, interval: 10 });

const start = (
  client: KubeClient,
  options: Partial<ReflectorOptions<KubeObject>> = {},
): Reflector => {
  const stop = new AbortController();
  const reflector = new Reflector({
    client,
    resource: configMaps,
    selection: { namespace, labelSelector: 'sdewanPurpose=cnf-1' },
    log: silentLogger,
    ...options,
  });
  const running = reflector.run(stop.signal);
  cleanUp.push(() => {
    stop.abort();
    return running;
  });
  return reflector;
};

const create = (name: string, purpose = 'cnf-1'): Promise<KubeObject> =>
  admin.create(configMaps, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace, labels: { sdewanPurpose: purpose } },
    data: { text: 'Zürich '.repeat(100) },
  });

const remove = (name: string): Promise<void> => admin.delete(configMaps, { namespace, name });
const versions = (objects: readonly KubeObject[]): string[] =>
  objects.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`).sort();

const throughProxy = async (
  options: { pingIntervalMs?: number } = {},
): Promise<{ proxy: TcpProxy; client: KubeClient }> => {
  const proxy = await TcpProxy.start(adminConfig.server);
  const config = { ...adminConfig, server: `https://127.0.0.1:${proxy.port}` };
  const client = createKubeClient({ config, ...options });
  cleanUp.push(
    () => proxy.stop(),
    () => client.close(),
  );
  return { proxy, client };
};

/** The client, and how many lists and watches were asked of it. */
const counting = (client: KubeClient): { client: KubeClient; asked: () => number } => {
  let asked = 0;
  return {
    client: {
      ...client,
      list: (...args) => {
        asked += 1;
        return client.list(...args);
      },
      watch: (...args) => {
        asked += 1;
        return client.watch(...args);
      },
    },
    asked: () => asked,
  };
};

describe('a reflector on the real API server', () => {
  it('has a thousand objects, and follows every change of them', async () => {
    const names = Array.from({ length: 1_000 }, (_, i) => `c${i}`);
    const inParallel = async (work: (name: string) => Promise<unknown>): Promise<void> => {
      for (let i = 0; i < names.length; i += 50)
        await Promise.all(names.slice(i, i + 50).map(work));
    };
    await Promise.all([inParallel((name) => create(name)), create('other', 'cnf-2')]);
    const reflector = start(admin);
    await until(() => reflector.state.phase === 'Synced');
    expect(reflector.store.size).toBe(1_000);

    await inParallel((name) =>
      admin.patch(
        configMaps,
        { namespace, name },
        { patch: { type: 'merge', body: { data: { a: 'b' } } } },
      ),
    );
    await Promise.all(names.slice(0, 100).map(remove));
    await until(() => reflector.store.size === 900);
    const selection = { namespace, labelSelector: 'sdewanPurpose=cnf-1' };
    const { items } = await admin.list(configMaps, selection);
    expect(versions(reflector.store.list())).toEqual(versions(items));
  });

  it('puts all watches on one connection, and goes on when the server ends them', async () => {
    const { proxy, client } = await throughProxy();
    const askers = Array.from({ length: 40 }, () => counting(client));
    const reflectors = askers.map((asker) =>
      start(asker.client, { timings: { serverTimeoutSeconds: [2, 3] } }),
    );
    await until(() => reflectors.every(({ state }) => state.phase === 'Synced'));
    await create('a');
    await until(() => reflectors.every(({ store }) => store.size === 1));
    // A list, a watch, and another one when the server has ended that.
    await until(() => askers.every(({ asked }) => asked() > 2));
    await create('b');
    await until(() => reflectors.every(({ store }) => store.size === 2));
    expect(proxy.accepted).toBe(1);
    expect(client.connections()).toBe(1);
    expect(reflectors.every(({ state }) => state.phase === 'Synced')).toBe(true);
  });
});

describe('a reflector whose network fails', () => {
  it('leaves a frozen connection, and misses nothing', async () => {
    const { proxy, client } = await throughProxy({ pingIntervalMs: 200 });
    await create('a');
    const reflector = start(client);
    await until(() => reflector.state.phase === 'Synced');
    proxy.freeze();
    await create('b');
    await remove('a');
    await until(() => reflector.store.byName(namespace, 'b') && reflector.store.size === 1, 5_000);
    expect(proxy.accepted).toBe(2);
  });

  it('keeps a quiet connection over ten pings, more than it takes to find a frozen one', async () => {
    const { proxy, client } = await throughProxy({ pingIntervalMs: 200 });
    const reflector = start(client);
    await until(() => reflector.state.phase === 'Synced');
    const begin = proxy.sent;
    await until(() => proxy.sent > begin + 10);
    expect(proxy.accepted).toBe(1);
  });
});

describe('a reflector of a kind that is not served', () => {
  const things: ResourceType = {
    group: 'reflector.example.org',
    version: 'v1',
    plural: 'things',
    kind: 'Thing',
    schema: objectSchema,
  };
  const crd = JSON.stringify({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'things.reflector.example.org' },
    spec: {
      group: things.group,
      scope: 'Namespaced',
      names: { plural: 'things', singular: 'thing', kind: 'Thing' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object' } },
        },
      ],
    },
  });
  const thing = JSON.stringify({
    apiVersion: 'reflector.example.org/v1',
    kind: 'Thing',
    metadata: { name: 't' },
  });

  const install = async (): Promise<void> => {
    await cluster.kubectl(['apply', '-f', '-'], { stdin: crd });
    await cluster.kubectl([
      'wait',
      '--for=condition=Established',
      'crd/things.reflector.example.org',
    ]);
    await vi.waitUntil(
      async () => {
        const made = await cluster.kubectl(['-n', namespace, 'apply', '-f', '-'], {
          stdin: thing,
          allowFailure: true,
        });
        return made.code === 0;
      },
      { timeout: 300_000, interval: 200 },
    );
  };
  const uninstall = () =>
    cluster.kubectl(['delete', 'crd', 'things.reflector.example.org', '--ignore-not-found']);

  it('says so, finds it when its CRD comes, loses its objects with the CRD, and finds it again', async () => {
    cleanUp.push(uninstall);
    const reflector = start(admin, {
      resource: things,
      selection: { namespace },
      timings: { notServedRetryMs: 200, baseBackoffMs: 50, maxBackoffMs: 200 },
    });
    await until(() => reflector.state.phase === 'NotServed');
    expect(reflector.hasSynced()).toBe(false);
    await install();
    await until(() => reflector.state.phase === 'Synced' && reflector.store.size === 1);
    await uninstall();
    await until(() => reflector.state.phase === 'NotServed');
    expect(reflector.store.size).toBe(0);
    await install();
    await until(() => reflector.state.phase === 'Synced' && reflector.store.size === 1);
  });
});
