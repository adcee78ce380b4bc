/**
 * The API server's own selection against ours: every selector of a list, by its text and by
 * evaluation.
 */
import { createKubeClient, type KubeClient } from '#shared/kube/client.ts';
import { loadKubeConfig } from '#shared/kube/config.ts';
import { resourceV1 } from '#shared/kube/objects.ts';
import {
  selectorText,
  selects,
  type LabelSelector,
  type Requirement,
} from '#shared/kube/selector.ts';
import * as fc from 'fast-check';
import { connectCluster } from 'kind-test-harness';
import { afterAll, beforeAll, expect, it } from 'vitest';

const configMaps = resourceV1('', 'configmaps', 'ConfigMap');
const LABELS: readonly Record<string, string>[] = [
  {},
  { app: 'web' },
  { app: 'web', tier: 'front' },
  { app: 'db', tier: '' },
  { 'example.org/app': 'web', constructor: 'x' },
];
let client: KubeClient;
let namespace: string;

beforeAll(async () => {
  const cluster = await connectCluster();
  client = createKubeClient({ config: await loadKubeConfig({ kubeconfig: cluster.kubeconfig }) });
  namespace = await cluster.createNamespace('selectors');
  for (const [at, labels] of LABELS.entries())
    await client.create(configMaps, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: `c${at}`, namespace, labels: { ...labels, 'of-the-test': 'yes' } },
    });
});
afterAll(() => client.close());

/** Few keys and values, so that selectors often have something to do with the objects. */
const KEYS = ['app', 'tier', 'example.org/app', 'constructor'];
const VALUES = ['', 'web', 'db', 'front', 'x'];
const matchLabels = fc.dictionary(fc.constantFrom(...KEYS), fc.constantFrom(...VALUES), {
  noNullPrototype: true,
  maxKeys: 2,
});
const requirement: fc.Arbitrary<Requirement> = fc.oneof(
  fc.record({
    key: fc.constantFrom(...KEYS),
    operator: fc.constantFrom('In', 'NotIn'),
    values: fc.uniqueArray(fc.constantFrom(...VALUES), { minLength: 1, maxLength: 3 }),
  }),
  fc.record({
    key: fc.constantFrom(...KEYS),
    operator: fc.constantFrom('Exists', 'DoesNotExist'),
  }),
);
const selector: fc.Arbitrary<LabelSelector> = fc.record({
  matchLabels,
  matchExpressions: fc.array(requirement, { maxLength: 3 }),
});
const RANDOM_SELECTORS = 500;
const AT_ONCE = 10;

const namesOf = (objects: readonly { metadata: { name: string } }[]): string[] =>
  objects.map(({ metadata }) => metadata.name).sort();

it('five hundred random selectors select what the API server selects', async () => {
  const all = await client.list(configMaps, { namespace, labelSelector: 'of-the-test' });
  expect(all.items).toHaveLength(LABELS.length);
  const some = fc.array(selector, { minLength: AT_ONCE, maxLength: AT_ONCE });
  let selecting = 0;
  await fc.assert(
    fc.asyncProperty(some, async (selectors) => {
      await Promise.all(
        selectors.map(async (one) => {
          const labelSelector = ['of-the-test=yes', selectorText(one)].filter(Boolean).join(',');
          const { items } = await client.list(configMaps, { namespace, labelSelector });
          const ours = all.items.filter(({ metadata }) => selects(one, metadata.labels));
          expect(namesOf(items)).toEqual(namesOf(ours));
          selecting += ours.length > 0 ? 1 : 0;
        }),
      );
    }),
    { numRuns: RANDOM_SELECTORS / AT_ONCE },
  );
  expect(selecting).toBeGreaterThan(RANDOM_SELECTORS / 10);
});
