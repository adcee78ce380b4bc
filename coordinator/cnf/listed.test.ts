/** What stays in memory of an object that a tenant has made as large as the API server takes it. */
import { expect, it } from 'vitest';
import type { ResourceType } from '#shared/kube/objects.ts';
import { keptRbac } from '../admission/buckets/bindings.ts';
import { createLiveWorld } from '../admission/live-world.ts';
import { createCnfLookups } from '../admission/cnf/lookups.ts';
import { listedPods, listedWorkloads } from './workload.ts';

const LARGE = 'x'.repeat(250_000);
const many = (count: number) => Array.from({ length: count }, (_, at) => `${at}`.padEnd(60, 'x'));
const container = { name: 'c', image: LARGE, env: [{ name: 'A', value: LARGE }] };

const largest = (resource: ResourceType<object>): object => ({
  apiVersion: 'v1',
  kind: resource.kind,
  metadata: {
    name: 'large',
    namespace: 'edge',
    uid: 'uid',
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: { ...Object.fromEntries(many(500).map((name) => [name, name])), sdewanPurpose: 'cnf' },
    annotations: { a: LARGE },
    finalizers: many(500),
    managedFields: [{ manager: LARGE }],
    ownerReferences: many(500).map((uid) => ({ apiVersion: 'v1', kind: 'A', name: uid, uid })),
  },
  spec: {
    containers: [container],
    template: { metadata: { annotations: { a: LARGE } }, spec: { containers: [container] } },
  },
  status: { message: LARGE },
  rules: many(500).map((name) => ({ verbs: ['*'], apiGroups: [name], resources: [name] })),
  roleRef: { kind: 'Role', name: 'large' },
});

const resources: readonly ResourceType<object>[] = [
  listedPods,
  ...listedWorkloads,
  ...Object.values(keptRbac),
];

it.each(resources.map((resource) => [resource.plural, resource] as const))(
  'of %s that are listed less than a kilobyte',
  (_, resource) => {
    const kept = JSON.stringify(resource.schema.parse(largest(resource)));
    expect(kept).toContain('"name":"large"');
    expect(kept.length).toBeLessThan(1_000);
  },
);

it('a review lists nothing but in pages, and of resources of which little is kept', async () => {
  const asked: { plural: string; pageSize: number | undefined }[] = [];
  const client = {
    list: async (
      { plural }: { plural: string },
      { pageSize }: { pageSize?: number | undefined } = {},
    ) => {
      asked.push({ plural, pageSize });
      return { items: [], resourceVersion: '1' };
    },
    get: () => Promise.reject(new Error('not asked for')),
  };
  const { signal } = new AbortController();
  const live = createLiveWorld(client);
  await live.grants({ username: 'u', groups: [] }, 'edge', signal);
  const change = { namespace: 'edge', purpose: 'cnf' };
  await live.purposes(change, signal);
  await live.networks(change, signal);
  await createCnfLookups(client).cnfs('edge', 'cnf', signal);
  expect(asked.filter(({ pageSize }) => pageSize === undefined)).toEqual([]);
  expect(new Set(asked.map(({ plural }) => plural))).toEqual(
    new Set(resources.map(({ plural }) => plural)),
  );
});
