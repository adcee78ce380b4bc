/**
 * A tenant who may make pods and workloads has his CNF enforce NetworkPolicies, for which the coordinator writes the addresses of pods of all namespaces, and
 * the names of all policies, into his namespace: by a pod, by each kind of workload, and by an annotation of what is there. With a coordinator and
 * without. An operator who has the right can.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createWorld, eventually, type World } from '../integration/admission/world.ts';
import { listOf } from '../stack/installation.ts';

const TENANT = 'tenant';
const OPERATOR = 'operator';
const SECRET_ADDRESS = '10.244.9.9';
const annotations = { 'sdewan.akraino.org/policy-networks': 'cluster' };

let world: World;
let namespace: string;
let shop: string;
beforeAll(async () => {
  world = await createWorld();
  shop = await world.createNamespace();
  namespace = await world.createNamespace();
  await world.apply([
    ...grant(TENANT, []),
    ...grant(OPERATOR, [
      {
        apiGroups: ['permissions.sdewan.akraino.org'],
        resources: ['policynetworks'],
        verbs: ['use'],
      },
    ]),
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'till', namespace: shop, labels: { app: 'till' } },
      spec: { schedulerName: 'nobody', containers: [{ name: 'main', image: 'none' }] },
    },
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: { name: 'till', namespace: shop },
      spec: { podSelector: { matchLabels: { app: 'till' } } },
    },
    pod('there', {}),
    workload('Deployment', 'there', {}),
  ]);
  const status = { phase: 'Running', podIP: SECRET_ADDRESS, podIPs: [{ ip: SECRET_ADDRESS }] };
  const patch = ['--subresource=status', '--type=merge', '-p', JSON.stringify({ status })];
  await world.kubectl('patch', 'pod', 'till', '-n', shop, ...patch);
});
afterAll(() => world.close());

const grant = (user: string, more: readonly object[]): object[] => {
  const rbac = 'rbac.authorization.k8s.io';
  const metadata = { name: user, namespace };
  const rules = [
    { apiGroups: ['', 'apps', 'batch'], resources: ['*'], verbs: ['*'] },
    { apiGroups: ['network.sdewan.akraino.org'], resources: ['*'], verbs: ['get', 'list'] },
    ...more,
  ];
  return [
    { apiVersion: `${rbac}/v1`, kind: 'Role', metadata, rules },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: rbac, kind: 'Role', name: user },
      subjects: [{ apiGroup: rbac, kind: 'User', name: user }],
    },
  ];
};

/** With an agent of its own, so that it counts as a CNF's also while no webhook answers. */
const specOf = (purpose: string) => ({
  schedulerName: 'nobody',
  initContainers: [
    { name: 'sdewan-agent', image: 'none', env: [{ name: 'SDEWAN_PURPOSE', value: purpose }] },
  ],
  containers: [{ name: 'openwrt', image: 'none' }],
});
const pod = (name: string, asking: object): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name,
    namespace,
    labels: { sdewanPurpose: name },
    annotations: { 'sdewan.akraino.org/inject': 'false', ...asking },
  },
  spec: specOf(name),
});
const workload = (kind: string, name: string, asking: object): object => {
  const labels = { sdewanPurpose: `of-${name}` };
  return {
    apiVersion: 'apps/v1',
    kind,
    metadata: { name, namespace },
    spec: {
      ...(kind === 'DaemonSet' ? {} : { replicas: 1 }),
      ...(kind === 'StatefulSet' && { serviceName: name }),
      selector: { matchLabels: labels },
      template: {
        metadata: { labels, annotations: asking },
        spec: { ...specOf(`of-${name}`), nodeSelector: { none: 'x' } },
      },
    },
  };
};
const job = (): object => {
  const { spec, metadata } = {
    spec: specOf('of-job'),
    metadata: { labels: { sdewanPurpose: 'of-job' }, annotations },
  };
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'job', namespace },
    spec: { template: { metadata, spec: { ...spec, restartPolicy: 'Never' } } },
  };
};
const controller = (): object => {
  const labels = { sdewanPurpose: 'of-rc' };
  return {
    apiVersion: 'v1',
    kind: 'ReplicationController',
    metadata: { name: 'rc', namespace },
    spec: {
      replicas: 1,
      selector: labels,
      template: { metadata: { labels, annotations }, spec: specOf('of-rc') },
    },
  };
};

const as = (user: string, ...args: string[]): Promise<{ code: number; stderr: string }> =>
  world.kubectl('--as', user, '-n', namespace, ...args);
const created = (user: string, object: object): Promise<{ code: number; stderr: string }> =>
  world.cluster.kubectl(['--as', user, 'create', '-f', '-'], {
    allowFailure: true,
    stdin: listOf([object]),
  });
const bound = (path: string): Promise<{ code: number; stderr: string }> =>
  world.cluster.kubectl(
    ['--as', TENANT, 'create', '--raw', `/api/v1/namespaces/${namespace}/${path}`, '-f', '-'],
    {
      allowFailure: true,
      stdin: JSON.stringify({
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { name: 'there', annotations },
        target: { kind: 'Node', name: 'none' },
      }),
    },
  );
const patchOf = (body: object): string[] => ['--type=merge', '-p', JSON.stringify(body)];
const forged = (): object => ({
  ...workload('ReplicaSet', 'forged', annotations),
  metadata: {
    name: 'forged',
    namespace,
    ownerReferences: [
      { apiVersion: 'apps/v1', kind: 'Deployment', name: 'there', uid: '0', controller: true },
    ],
  },
});

const ways: Record<string, () => Promise<{ code: number; stderr: string }>> = {
  'a pod': () => created(TENANT, pod('asks', annotations)),
  'a pod that is there': () =>
    as(TENANT, 'patch', 'pod', 'there', ...patchOf({ metadata: { annotations } })),
  "a pod's status": () =>
    as(
      TENANT,
      'patch',
      'pod',
      'there',
      '--subresource=status',
      ...patchOf({ metadata: { annotations } }),
    ),
  "a pod's binding to a node": () => bound('pods/there/binding'),
  'a binding of a pod to a node': () => bound('bindings'),
  'a Deployment that is there': () =>
    as(
      TENANT,
      'patch',
      'deployment',
      'there',
      ...patchOf({ spec: { template: { metadata: { annotations } } } }),
    ),
  ...Object.fromEntries(
    ['Deployment', 'ReplicaSet', 'StatefulSet', 'DaemonSet'].map((kind) => [
      `a ${kind}`,
      () => created(TENANT, workload(kind, kind.toLowerCase(), annotations)),
    ]),
  ),
  'a ReplicaSet with the owner of another': () => created(TENANT, forged()),
  'a Job': () => created(TENANT, job()),
  'a ReplicationController': () => created(TENANT, controller()),
};

/** A pod of nobody needs the webhook that asks whose it is, which comes before policies. */
const REFUSED =
  /verb use on policynetworks\.permissions\.sdewan\.akraino\.org|failed calling webhook "pods\.sdewan/;

const groups = async (): Promise<string> =>
  (await world.kubectl('get', 'addressgroups,policyenforcements', '-n', namespace, '-o', 'yaml'))
    .stdout;

describe.each([['with a coordinator'], ['without a coordinator']])('%s', (which) => {
  beforeAll(async () => {
    if (which === 'without a coordinator') await world.stopCoordinator();
  });

  it.each(Object.entries(ways))('a tenant is shown nothing by %s', async (_, way) => {
    const { code, stderr } = await way();
    expect(stderr).toMatch(REFUSED);
    expect(code).not.toBe(0);
  });
});

it('an operator with the right has his CNF enforce them, and is shown the addresses', async () => {
  await world.startCoordinator();
  expect(await groups()).not.toContain(SECRET_ADDRESS);
  expect((await created(OPERATOR, pod('enforces', annotations))).stderr).toBe('');
  await eventually(groups).toContain(SECRET_ADDRESS);
  // What it asks for already, a tenant may keep or take away.
  expect((await as(TENANT, 'label', 'pod', 'enforces', 'a=b')).code).toBe(0);
  expect(
    (await as(TENANT, 'annotate', 'pod', 'enforces', 'sdewan.akraino.org/policy-networks-')).code,
  ).toBe(0);
});
