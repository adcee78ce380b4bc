/** The API server's own selection against ours: every selector of a list, by its text and by evaluation. */
import { createKubeClient, type KubeClient } from '#shared/kube/client.ts';
import { loadKubeConfig } from '#shared/kube/config.ts';
import { objectSchema } from '#shared/kube/objects.ts';
import { selectorText, selects, type LabelSelector } from '#shared/kube/selector.ts';
import { connectCluster } from 'kind-test-harness';
import { afterAll, beforeAll, expect, it } from 'vitest';

const configMaps = {
  group: '',
  version: 'v1',
  plural: 'configmaps',
  kind: 'ConfigMap',
  schema: objectSchema,
};
const LABELS: readonly Record<string, string>[] = [
  {},
  { app: 'web' },
  { app: 'web', tier: 'front' },
  { app: 'db', tier: '' },
  { 'example.org/app': 'web', constructor: 'x' },
];
const SELECTORS: readonly LabelSelector[] = [
  {},
  { matchLabels: { app: 'web' } },
  { matchLabels: { app: 'web', tier: 'front' } },
  { matchLabels: { tier: '' } },
  { matchLabels: { 'example.org/app': 'web' } },
  { matchExpressions: [{ key: 'app', operator: 'In', values: ['web', 'db'] }] },
  { matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['web'] }] },
  { matchExpressions: [{ key: 'tier', operator: 'In', values: [''] }] },
  { matchExpressions: [{ key: 'tier', operator: 'NotIn', values: ['', 'front'] }] },
  { matchExpressions: [{ key: 'tier', operator: 'Exists' }] },
  { matchExpressions: [{ key: 'constructor', operator: 'Exists' }] },
  { matchExpressions: [{ key: 'constructor', operator: 'DoesNotExist' }] },
  {
    matchLabels: { app: 'web' },
    matchExpressions: [{ key: 'tier', operator: 'DoesNotExist' }],
  },
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

const namesOf = (objects: readonly { metadata: { name: string } }[]): string[] =>
  objects.map(({ metadata }) => metadata.name).sort();

it.each(SELECTORS.map((selector) => [selectorText(selector), selector] as const))(
  '"%s" selects what the API server selects',
  async (labelSelector, selector) => {
    const all = await client.list(configMaps, { namespace, labelSelector: 'of-the-test' });
    expect(all.items).toHaveLength(LABELS.length);
    const ofTheTest = {
      ...selector,
      matchLabels: { ...selector.matchLabels, 'of-the-test': 'yes' },
    };
    const { items } = await client.list(configMaps, {
      namespace,
      labelSelector: [labelSelector, 'of-the-test=yes'].filter(Boolean).join(','),
    });
    const ours = all.items.filter(({ metadata }) => selects(ofTheTest, metadata.labels));
    expect(namesOf(items)).toEqual(namesOf(ours));
    expect(ours.length).toBeGreaterThan(0);
  },
);
