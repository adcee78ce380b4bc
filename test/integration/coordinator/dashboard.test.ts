/** What the dashboard asks a real API server, with no more rights than deploy/dashboard grants. */
import { createKubeClient, type KubeClient } from '#shared/kube/client.ts';
import { loadKubeConfig } from '#shared/kube/config.ts';
import { EventRecorder } from '#shared/kube/events.ts';
import { DASHBOARD_AUDIENCE } from '#shared/names.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { connectCluster, type Cluster } from 'kind-test-harness';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { createEventsSeen } from '../../../coordinator/dashboard/events-seen.ts';
import { createReviews } from '../../../coordinator/dashboard/viewer/reviews.ts';
import { installedObjects, renderWith, type Manifest } from '../../stack/installation.ts';

const DEPLOYMENT = z.object({
  spec: z.object({
    template: z.object({
      spec: z.object({
        containers: z.array(z.object({ env: z.array(z.looseObject({ name: z.string() })) })),
      }),
    }),
  }),
});

const GROUP = 'batch.sdewan.akraino.org';

let cluster: Cluster;
let admin: KubeClient;
let namespace: string;
let rendered: Manifest[];
/** With the token of an account that is bound to the component's role alone. */
let client: KubeClient;
const stop = new AbortController();

const kubectl = async (...args: string[]): Promise<string> => {
  const { stdout } = await cluster.kubectl(args);
  return stdout.trim();
};

beforeAll(async () => {
  cluster = await connectCluster();
  const config = await loadKubeConfig({ kubeconfig: cluster.kubeconfig });
  admin = createKubeClient({ config });
  namespace = await cluster.createNamespace('dashboard');
  rendered = await renderWith(cluster, ['dashboard']);
  const role = rendered.find(
    ({ kind, metadata }) => kind === 'ClusterRole' && metadata.name === 'sdewan-dashboard',
  );
  const name = `sdewan-dashboard-${namespace}`;
  await cluster.kubectl(['create', '-f', '-'], {
    stdin: JSON.stringify({ ...role, metadata: { name } }),
  });
  for (const account of ['coordinator', 'viewer'])
    await kubectl('create', 'serviceaccount', account, '-n', namespace);
  const subject = `--serviceaccount=${namespace}:coordinator`;
  await kubectl('create', 'clusterrolebinding', name, `--clusterrole=${name}`, subject);
  // What the coordinator may do without the component.
  const reviewer = ['--verb=create', '--resource=tokenreviews.authentication.k8s.io'];
  await kubectl('create', 'clusterrole', `${name}-base`, ...reviewer);
  await kubectl(
    'create',
    'clusterrolebinding',
    `${name}-base`,
    `--clusterrole=${name}-base`,
    subject,
  );
  const token = await kubectl('create', 'token', 'coordinator', '-n', namespace);
  client = createKubeClient({
    config: {
      ...config,
      headers: async () => ({ authorization: `Bearer ${token}` }),
      tls: async () => ({ ca: (await config.tls()).ca }),
    },
  });
});

afterAll(async () => {
  stop.abort();
  const name = `sdewan-dashboard-${namespace}`;
  for (const kind of ['clusterrole', 'clusterrolebinding'])
    await cluster.kubectl(['delete', kind, name, `${name}-base`, '--ignore-not-found']);
  await cluster.kubectl(['delete', 'namespace', namespace, '--wait=false']);
  await Promise.all([admin.close(), client.close()]);
});

it('is off without the component, and with it on loopback only', async () => {
  const envOf = (objects: readonly Manifest[]) => {
    const found = objects.find(({ kind }) => kind === 'Deployment');
    const { spec } = DEPLOYMENT.parse(found);
    const env = spec.template.spec.containers.flatMap((container) => container.env);
    return env.filter(({ name }) => name.startsWith('SDEWAN_DASHBOARD'));
  };
  const without = await installedObjects(cluster);
  expect(envOf(without)).toEqual([]);
  expect(envOf(rendered)).toEqual([
    { name: 'SDEWAN_DASHBOARD_URL', value: 'http://127.0.0.1:8444' },
  ]);
  const names = (objects: readonly Manifest[]) =>
    objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
  const more = new Set(names(rendered));
  for (const name of names(without)) more.delete(name);
  expect([...more].sort()).toEqual([
    'ClusterRole sdewan-dashboard',
    'ClusterRoleBinding sdewan-dashboard',
    'ClusterRoleBinding sdewan-dashboard-viewer',
    'ServiceAccount sdewan-dashboard-viewer',
  ]);
});

it('knows a viewer by a token of the API server, or one that is good for the dashboard alone', async () => {
  const reviews = createReviews(client);
  const username = `system:serviceaccount:${namespace}:viewer`;
  const create = ['create', 'token', 'viewer', '-n', namespace];
  const plain = await kubectl(...create);
  const own = await kubectl(...create, '--audience', DASHBOARD_AUDIENCE);
  const other = await kubectl(...create, '--audience', 'somebody-else');
  expect(await reviews.identify(plain)).toMatchObject({ user: { username } });
  expect(await reviews.identify(own)).toMatchObject({
    user: { username, groups: expect.arrayContaining([`system:serviceaccounts:${namespace}`]) },
    endsAt: expect.any(Number),
  });
  expect(await reviews.identify(other)).toBeUndefined();
  expect(await reviews.identify('no.such.token')).toBeUndefined();
  expect(await reviews.identify(`${own.slice(0, -4)}AAAA`)).toBeUndefined();
});

it('lets a viewer list what RBAC says, there and nowhere else', async () => {
  const reviews = createReviews(client);
  // `kubectl create role` asks the API server for the kind, which it need not serve.
  const role = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'Role',
    metadata: { name: 'looks', namespace },
    rules: [{ apiGroups: [GROUP], resources: ['firewallrules'], verbs: ['list'] }],
  };
  await cluster.kubectl(['create', '-f', '-'], { stdin: JSON.stringify(role) });
  const account = `--serviceaccount=${namespace}:viewer`;
  await kubectl('create', 'rolebinding', 'looks', '--role=looks', account, '-n', namespace);
  const token = await kubectl('create', 'token', 'viewer', '-n', namespace);
  const known = await reviews.identify(token);
  if (!known) throw new Error('the token is not known');
  const may = (plural: string, where: string | undefined) =>
    reviews.mayList(known.user, {
      group: GROUP,
      resource: plural,
      namespace: where,
    });
  await vi.waitFor(async () => expect(await may('firewallrules', namespace)).toBe(true), 300_000);
  expect(await may('ipsechosts', namespace)).toBe(false);
  expect(await may('firewallrules', 'default')).toBe(false);
  expect(await may('firewallrules', undefined)).toBe(false);
});

it('Events of coordinators are followed, those of others are not', async () => {
  const deps = { clock: systemClock, log: silentLogger };
  const component = `coordinator-${namespace}`;
  const record = (by: string, message: string): void => {
    const recorder = new EventRecorder({ ...deps, client: admin, component: by, instance: 'x' });
    void recorder.run(stop.signal);
    recorder.record({
      object: {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: {
          name: 'p',
          namespace,
          uid: 'u',
          resourceVersion: '1',
          creationTimestamp: '2026-01-01T00:00:00Z',
        },
      },
      type: 'Warning',
      reason: 'Tried',
      message,
    });
  };
  const seen = createEventsSeen({
    ...deps,
    client,
    namespace: undefined,
    component,
    onChange: () => undefined,
  });
  const messages = () => seen.latest().map(({ message }) => message);
  record(component, 'before');
  void seen.run(stop.signal);
  await vi.waitFor(() => expect(messages()).toEqual(['before']), 300_000);
  record('somebody-else', 'of others');
  record(component, 'after');
  await vi.waitFor(() => expect(messages()).toHaveLength(2), 300_000);
  expect(messages()).not.toContain('of others');
  expect(seen.problem()).toBe('');
  expect(seen.latest()[0]).toMatchObject({
    namespace,
    involved: { kind: 'Pod', name: 'p', uid: 'u' },
    reason: 'Tried',
    count: 1,
  });
});
