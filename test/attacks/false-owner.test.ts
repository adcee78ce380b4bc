/**
 * A tenant that may write pods has one of his counted as a pod of a CNF, so that its rules never
 * are in sync and deletions of rules wait for ever: by an owner that did not make the pod, or an
 * agent that the webhook did not put in. Before, owners were not looked at, pods that opt out were
 * not looked at, and a label that came later was not seen.
 */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { KubeClient } from '#shared/kube/client.ts';
import type { KubeObject } from '#shared/kube/objects.ts';
import { podResource, replicaSets, workloadResources } from '../../coordinator/sources/workload.ts';
import { createFixture, type Fixture } from '../integration/admission/fixture.ts';
import { eventually } from '../integration/support/eventually.ts';

const RBAC = 'rbac.authorization.k8s.io';
const PURPOSE = 'cnf-1';
const NOBODY = '00000000-0000-4000-8000-000000000001';

let fixture: Fixture;
let mallory: KubeClient;
/**
 * May do all with pods and workloads, and with an operator's kinds, which includes each
 * subresource.
 */
let wildcard: KubeClient;
/** May write the status of ReplicaSets, and nothing else of them. */
let status: KubeClient;
let namespace: string;
let replicaSet: KubeObject;

const AGENT = {
  name: 'sdewan-agent',
  image: 'none',
  restartPolicy: 'Always',
  env: [{ name: 'SDEWAN_PURPOSE', value: PURPOSE }],
};
const OPTED_OUT = { 'sdewan.akraino.org/inject': 'false' };
const WITHOUT_WEBHOOK = { 'sdewan.akraino.org/without-webhook': 'true' };

const template = (labels: object) => ({
  metadata: { labels },
  spec: {
    schedulerName: 'none',
    terminationGracePeriodSeconds: 0,
    containers: [{ name: 'openwrt', image: 'none' }],
  },
});
const workload = (kind: string, name: string, labels: object) => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: { name, namespace, labels },
  spec: {
    replicas: 1,
    ...(kind === 'StatefulSet' && { serviceName: name }),
    selector: { matchLabels: { app: name } },
    template: template({ app: name, ...labels }),
  },
});

type PodChanges = {
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  owner?: object;
  agents?: readonly object[];
};
const pod = (name: string, { labels, annotations, owner, agents }: PodChanges = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name,
    namespace,
    labels: labels ?? { sdewanPurpose: PURPOSE },
    ...(annotations && { annotations }),
    ...(owner && { ownerReferences: [controlledBy(owner)] }),
  },
  spec: { ...template({}).spec, ...(agents && { initContainers: agents }) },
});
const controlledBy = (owner: object) => ({
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  name: 'nobody',
  uid: NOBODY,
  controller: true,
  ...owner,
});
const CNF_SET = { apiVersion: 'example.org/v1', kind: 'CnfSet' };

const applied = async (objects: readonly object[]): Promise<void> => {
  const { code, stderr } = await fixture.apply(objects);
  if (code !== 0) throw new Error(stderr);
};

const grant = async (name: string, subject: object, rules: readonly object[]): Promise<void> => {
  const role = {
    apiVersion: `${RBAC}/v1`,
    kind: 'Role',
    metadata: { name, namespace },
    rules,
  };
  const binding = {
    apiVersion: `${RBAC}/v1`,
    kind: 'RoleBinding',
    metadata: { name, namespace },
    roleRef: { apiGroup: RBAC, kind: 'Role', name },
    subjects: [subject],
  };
  await applied([role, binding]);
};
const grantEverywhere = (user: string): Promise<void> => {
  const apiVersion = `${RBAC}/v1`;
  const metadata = { name: everywhere() };
  const rules = [{ apiGroups: ['example.org'], resources: ['*'], verbs: ['*'] }];
  const roleRef = { apiGroup: RBAC, kind: 'ClusterRole', ...metadata };
  return applied([
    { apiVersion, kind: 'ClusterRole', metadata, rules },
    {
      apiVersion,
      kind: 'ClusterRoleBinding',
      metadata,
      roleRef,
      subjects: [userNamed(user)],
    },
  ]);
};
/** Objects of the cluster: other installations are on it. */
const everywhere = (): string => `${namespace}-everywhere`;
const WRITES_PODS = {
  apiGroups: [''],
  resources: ['pods', 'configmaps'],
  verbs: ['get', 'list', 'create', 'update', 'patch', 'delete'],
};
const userNamed = (name: string) => ({ apiGroup: RBAC, kind: 'User', name });

const podsOf = async (labelSelector: string): Promise<KubeObject[]> =>
  (await fixture.client.list(podResource, { namespace, labelSelector })).items;

beforeAll(async () => {
  fixture = await createFixture();
  namespace = await fixture.createNamespace();
  mallory = fixture.clientAs('mallory');
  await grant('mallory', userNamed('mallory'), [WRITES_PODS]);
  await vi.waitFor(() => mallory.list(podResource, { namespace }), 300_000);
  wildcard = fixture.clientAs('wildcard');
  const all = { apiGroups: ['', 'apps', 'example.org'], resources: ['*'], verbs: ['*'] };
  await grant('wildcard', userNamed('wildcard'), [WRITES_PODS, all]);
  await vi.waitFor(() => wildcard.list(podResource, { namespace }), 300_000);
  status = fixture.clientAs('status');
  const ofSets = { apiGroups: ['apps'], resources: ['replicasets/status'], verbs: ['update'] };
  await grant('status', userNamed('status'), [WRITES_PODS, ofSets]);
  await vi.waitFor(() => status.list(podResource, { namespace }), 300_000);
  await applied([workload('Deployment', 'cnf', { sdewanPurpose: PURPOSE })]);
  replicaSet = await vi.waitFor(async () => {
    const [set] = (await fixture.client.list(replicaSets, { namespace })).items;
    if (!set || (await podsOf('app=cnf')).length === 0) throw new Error('no pod yet');
    return set;
  }, 300_000);
});
afterAll(async () => {
  await fixture.kubectl('delete', 'clusterrole,clusterrolebinding', everywhere());
  await fixture.close();
});

const create = (object: ReturnType<typeof pod>, as: KubeClient = mallory): Promise<unknown> =>
  as.create(podResource, object);
const change = (name: string, metadata: object): Promise<unknown> => {
  const patch = { type: 'merge', body: { metadata } } as const;
  return mallory.patch(podResource, { namespace, name }, { patch });
};

const BY_OWNER = /only its controller may make an object the owner of a CNF's pod/;
const BY_LABEL = /sdewanPurpose cannot be given to a pod that is there/;
/** The webhook refuses, or does not answer. */
const BY_WEBHOOK = /pods\.sdewan\.akraino\.org/;

/** What he tries with a pod of the name, and who refuses it. */
type Way = { attempt: (name: string) => Promise<unknown>; by: RegExp };
const ownedBy = (owner: () => object, as?: () => KubeClient): Way => ({
  attempt: (name) => create(pod(name, { annotations: OPTED_OUT, owner: owner() }), as?.()),
  by: BY_OWNER,
});
const ofTheCnf = () => ({ name: replicaSet.metadata.name, uid: replicaSet.metadata.uid });
const ways: Record<string, Way> = {
  "the CNF's own ReplicaSet as the owner": ownedBy(ofTheCnf),
  'a kind as the owner that nobody serves': ownedBy(() => CNF_SET),
  "the CNF's own ReplicaSet as the owner, by who may do all with workloads of the namespace":
    ownedBy(ofTheCnf, () => wildcard),
  "the CNF's own ReplicaSet as the owner, by anyone who can write the status of ReplicaSets of the namespace":
    ownedBy(ofTheCnf, () => status),
  'a kind as the owner of which he may do all in the namespace': ownedBy(
    () => CNF_SET,
    () => wildcard,
  ),
  'an object of his own as the owner': {
    attempt: async (name) => {
      const metadata = { name, namespace };
      const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata };
      const made = await mallory.create({ ...podResource, plural: 'configmaps' }, configMap);
      const { uid } = made.metadata;
      await create(pod(name, { annotations: OPTED_OUT, owner: { ...configMap, name, uid } }));
    },
    by: BY_OWNER,
  },
  'no agent and no owner': {
    attempt: (name) => create(pod(name, { annotations: OPTED_OUT })),
    by: BY_WEBHOOK,
  },
  'an agent of his own and no owner': {
    attempt: (name) => create(pod(name, { annotations: WITHOUT_WEBHOOK, agents: [AGENT] })),
    by: BY_WEBHOOK,
  },
};

const triesAll = (when: string): void => {
  describe(`a tenant's pod, ${when}, is no pod of the CNF with`, () => {
    it.each(Object.entries(ways))('%s', async (way, { attempt, by }) => {
      const name = `${when} ${way}`.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
      await expect(attempt(name.slice(0, 60).replace(/-+$/, ''))).rejects.toThrow(by);
    });
  });
};

triesAll('while a coordinator answers');

describe('what is let through', () => {
  it.each(workloadResources.filter(({ kind }) => kind !== 'DaemonSet'))(
    'includes a pod that a $kind makes, with its agent',
    async ({ kind }) => {
      const name = `real-${kind.toLowerCase()}`;
      await applied([workload(kind, name, { sdewanPurpose: name })]);
      await eventually(async () => JSON.stringify(await podsOf(`app=${name}`))).toContain(
        '"name":"sdewan-agent"',
      );
    },
  );

  const operators: Record<string, object[]> = {
    'who may write its status in the namespace': [
      { apiGroups: ['example.org'], resources: ['cnfsets/status'], verbs: ['update'] },
    ],
    'who may do all with it in all namespaces': [],
  };
  it.each(Object.entries(operators))(
    "includes a pod of an operator's own kind, by %s",
    async (_, rules) => {
      const name = rules.length > 0 ? 'operator-here' : 'operator-everywhere';
      const operator = fixture.clientAs(name);
      await grant(name, userNamed(name), [WRITES_PODS, ...rules]);
      if (rules.length === 0) await grantEverywhere(name);
      await vi.waitFor(() => operator.list(podResource, { namespace }), 300_000);
      const labels = { sdewanPurpose: name };
      const made = await create(pod(name, { labels, owner: CNF_SET }), operator);
      expect(JSON.stringify(made)).toContain('"name":"sdewan-agent"');
    },
  );

  it('includes a pod without an owner that opts out, where there is no other CNF', async () => {
    const labels = { sdewanPurpose: 'alone' };
    const made = await create(pod('alone', { labels, annotations: OPTED_OUT }));
    expect(JSON.stringify(made)).not.toContain('sdewan-agent');
  });

  it('includes the label of the agent, taken away and given back', async () => {
    await create(pod('again', { labels: { sdewanPurpose: 'again' } }));
    await change('again', { labels: { sdewanPurpose: null } });
    await change('again', { labels: { sdewanPurpose: 'again' } });
    await expect(change('again', { labels: { sdewanPurpose: PURPOSE } })).rejects.toThrow(BY_LABEL);
  });
});

describe('without a coordinator', () => {
  beforeAll(() => fixture.stopCoordinator());
  triesAll('while none answers');
});
