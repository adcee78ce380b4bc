/** What stays in memory of an object that a tenant has made as large as the API server takes it. */
import { expect, it } from 'vitest';
import type { ListOptions } from '#shared/kube/client.ts';
import { objectSchema, type ResourceType } from '#shared/kube/objects.ts';
import { keptRbac, rbacOf } from '../admission/buckets/bindings.ts';
import { createLiveFacts } from '../admission/live-facts.ts';
import { createCnfLookups } from '../admission/cnf/lookups.ts';
import { serviceOf } from '../controllers/generated-rules/kubernetes-services/service.ts';
import { cnfPodOf } from './cnf-pod.ts';
import { listedPods, listedWorkloads, templateFactsOf, podResource } from './workload.ts';

const LARGE = 'x'.repeat(250_000);
const many = (count: number) => Array.from({ length: count }, (_, at) => `${at}`.padEnd(60, 'x'));
const container = {
  name: 'sdewan-agent',
  image: LARGE,
  env: ['A', 'SDEWAN_PURPOSE', 'SDEWAN_WITHOUT_KINDS'].map((name) => ({ name, value: LARGE })),
};
/** Those of ours, and another one. */
const annotations = {
  a: LARGE,
  'k8s.plugin.opnfv.org/nfn-network': LARGE,
  'sdewan.akraino.org/accepts-services-from': LARGE,
  'sdewan.akraino.org/expose': LARGE,
  'sdewan.akraino.org/expose-zone': LARGE,
  'sdewan-bucket-type-permission': LARGE,
};

const largest = (resource: ResourceType<object>): object => ({
  apiVersion: 'v1',
  kind: resource.kind,
  metadata: {
    name: 'large',
    namespace: 'edge',
    uid: 'uid',
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: { ...Object.fromEntries(many(500).map((name) => [name, name])), sdewanPurpose: 'cnf' },
    annotations,
    finalizers: many(500),
    managedFields: [{ manager: LARGE }],
    ownerReferences: many(500).map((uid) => ({
      apiVersion: LARGE,
      kind: LARGE,
      name: LARGE,
      uid,
      controller: true,
    })),
  },
  spec: {
    containers: [container],
    template: { metadata: { annotations }, spec: { containers: [container] } },
    ports: many(5_000).map((_, at) => ({ name: `p${at}`, port: at + 1 })),
    clusterIPs: ['10.0.0.1'],
  },
  status: {
    message: LARGE,
    containerStatuses: many(5_000).map((name) => ({ name, ready: false })),
  },
  rules: many(500).map((name) => ({ verbs: ['*'], apiGroups: [name], resources: [name] })),
  roleRef: { kind: 'Role', name: 'large', more: LARGE },
  subjects: many(5_000).map((name) => ({ kind: 'User', name, more: name })),
});

const resources: readonly ResourceType<object>[] = [
  listedPods,
  ...listedWorkloads,
  ...Object.values(keptRbac),
];

it.each(resources.map((resource) => [resource.plural, resource] as const))(
  'keeps a few kilobytes of %s that are listed or watched',
  (_, resource) => {
    const kept = JSON.stringify(resource.schema.parse(largest(resource)));
    expect(kept).toContain('"name":"large"');
    expect(kept.length).toBeLessThan(10_000);
  },
);

it.each<[string, (object: object) => unknown]>([
  ['a pod', cnfPodOf],
  ['what a pod says', templateFactsOf],
  ['a Service', (object) => serviceOf(objectSchema.parse(object))],
])('keeps a few kilobytes of %s', (_, of) => {
  expect(JSON.stringify(of(largest(podResource))).length).toBeLessThan(20_000);
});

it("keeps the user that is asked about in a list of a binding's subjects, in any place", () => {
  const [, ...names] = many(5_000).reverse();
  const rbac = rbacOf({ username: names[0] ?? '', groups: [] });
  const { binding } = rbac.roleBindings.schema.parse(largest(rbac.roleBindings));
  expect(binding.subjects).toEqual([{ kind: 'User', name: names[0], namespace: undefined }]);
});

it('lists nothing in a review but a few pages, of resources of which little is kept', async () => {
  const asked: (ListOptions & { plural: string })[] = [];
  const client = {
    list: async ({ plural }: { plural: string }, bounds: ListOptions = {}) => {
      asked.push({ plural, ...bounds });
      return { items: [], resourceVersion: '1' };
    },
    get: () => Promise.reject(new Error('not asked for')),
  };
  const { signal } = new AbortController();
  const live = createLiveFacts(client, () => []);
  await live.grants({ username: 'u', groups: [] }, 'edge', signal);
  const change = { namespace: 'edge', purpose: 'cnf' };
  await live.networks(change, signal);
  await createCnfLookups(client).cnfs('edge', 'cnf', signal);
  const endless = asked.filter(({ pageSize, maxPages }) => !pageSize || !maxPages);
  expect(endless).toEqual([]);
  expect(new Set(asked.map(({ plural }) => plural))).toEqual(
    new Set(resources.map(({ plural }) => plural)),
  );
});
