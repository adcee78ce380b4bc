/** What the API server itself makes of CNFDeployments: defaults, refusals, and /scale. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connectCluster, type Cluster } from 'kind-test-harness';
import { createKubeClient, type KubeClient } from '#shared/kube/client.ts';
import { loadKubeConfig } from '#shared/kube/config.ts';
import { cnfDeploymentResource } from '#shared/resources/other-kinds/cnf-deployment.ts';
import { applyCrds } from './support/crds.ts';

let cluster: Cluster;
let client: KubeClient;
let namespace: string;
beforeAll(async () => {
  cluster = await connectCluster();
  client = createKubeClient({ config: await loadKubeConfig({ kubeconfig: cluster.kubeconfig }) });
  await applyCrds(cluster);
  namespace = await cluster.createNamespace('cnf-deployment');
});
afterAll(() => client.close());

const labels = { sdewanPurpose: 'cnf-1' };
const template = {
  metadata: { labels },
  spec: { containers: [{ name: 'openwrt', image: 'o', env: [{ name: 'A', value: 'b' }] }] },
};
const body = (spec: object = {}, name = 'cnf-1') => ({
  apiVersion: 'fleet.sdewan.akraino.org/v1alpha1',
  kind: 'CNFDeployment',
  metadata: { name, namespace },
  spec: { selector: { matchLabels: labels }, template, ...spec },
});
const answerTo = async (spec: object): Promise<string> => {
  try {
    await client.create(cnfDeploymentResource, body(spec), { dryRun: true });
    return 'accepted';
  } catch (error) {
    return String(error);
  }
};

it('has defaults, and keeps the template whole', async () => {
  const { spec } = await client.create(cnfDeploymentResource, body(), { dryRun: true });
  expect(spec).toEqual({
    replicas: 1,
    strategy: 'RollingUpdate',
    surge: '100%',
    selector: { matchLabels: labels },
    template,
    soakSeconds: 30,
    progressDeadline: '15m',
    handOverTimeout: '20s',
    createTimeout: '10m',
    healthTimeout: '0s',
    onFailure: 'Rollback',
    paused: false,
  });
});

it.each<[string, object, string]>([
  [
    'a template without a purpose',
    {
      template: { ...template, metadata: { labels: { app: 'x' } } },
      selector: { matchLabels: { app: 'x' } },
    },
    'metadata.labels must have sdewanPurpose, which names the purpose of the CNF',
  ],
  [
    'a selector that does not match the template',
    { selector: { matchLabels: { app: 'x' } } },
    'matchLabels must name labels of spec.template.metadata.labels, with the same values',
  ],
  ['an empty selector', { selector: { matchLabels: {} } }, 'matchLabels must name labels'],
  [
    'our readiness gate in the template',
    {
      template: {
        ...template,
        spec: {
          ...template.spec,
          readinessGates: [{ conditionType: 'fleet.sdewan.akraino.org/handed-over' }],
        },
      },
    },
    'spec.readinessGates must not have fleet.sdewan.akraino.org/handed-over',
  ],
  ['more than four replicas', { replicas: 5 }, 'spec.replicas: Invalid value: 5'],
  ['a duration in words', { progressDeadline: 'soon' }, 'spec.progressDeadline'],
  ['a hand-over in words', { handOverTimeout: 'soon' }, 'spec.handOverTimeout'],
  ['a create limit in words', { createTimeout: '10 min' }, 'spec.createTimeout'],
  ['a health limit in words', { healthTimeout: '-1s' }, 'spec.healthTimeout'],
  ['a surge of pods', { surge: 2 }, 'spec.surge: Invalid value: 2: must be 100% or 1'],
  ['a surge of a share', { surge: '50%' }, 'must be 100% or 1'],
  ['a schedule of six fields', { updates: { schedule: '0 0 2 * * *' } }, 'spec.updates.schedule'],
  ['a schedule in words', { updates: { schedule: '@daily' } }, 'spec.updates.schedule'],
  ['a strategy that there is not', { strategy: 'Canary' }, 'Unsupported value: "Canary"'],
])('refuses %s', async (_, spec, message) => {
  expect(await answerTo(spec)).toContain(message);
});

it('has an hour of UTC for a window of updates', async () => {
  const updates = { schedule: '0 2 * * SUN' };
  const { spec } = await client.create(cnfDeploymentResource, body({ updates }), { dryRun: true });
  expect(spec.updates).toEqual({ ...updates, duration: '1h', timeZone: 'UTC' });
});

it('keeps its selector, and its strategy while a set is staged', async () => {
  const made = await client.create(cnfDeploymentResource, body({}, 'kept'));
  const change = async (spec: object): Promise<string> => {
    try {
      await client.patch(cnfDeploymentResource, made.metadata, {
        patch: { type: 'merge', body: { spec } },
        dryRun: true,
      });
      return 'accepted';
    } catch (error) {
      return String(error);
    }
  };
  expect(await change({ strategy: 'Recreate', surge: 1 })).toBe('accepted');
  const more = { ...labels, app: 'x' };
  const moved = { selector: { matchLabels: more }, template: { metadata: { labels: more } } };
  expect(await change(moved)).toContain('cannot change: make another CNFDeployment');
  const status = { stagedRevision: 'b' };
  await client.patch(cnfDeploymentResource, made.metadata, {
    patch: { type: 'merge', body: { status } },
    subresource: 'status',
  });
  expect(await change({ strategy: 'Recreate' })).toContain('while a new set of pods is staged');
  expect(await change({ surge: 1 })).toContain('while a new set of pods is staged');
  expect(await change({ replicas: 2 })).toBe('accepted');
});

it('can be scaled', async () => {
  await client.create(cnfDeploymentResource, body({}, 'scaled'));
  const target = ['-n', namespace, 'cnfdeploy/scaled'];
  await cluster.kubectl(['scale', ...target, '--replicas=3']);
  const { stdout } = await cluster.kubectl(['get', ...target, '-o', 'jsonpath={.spec.replicas}']);
  expect(stdout).toBe('3');
});
