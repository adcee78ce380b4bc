/** Templates that change faster than their pods get every rule: only the oldest and the newest set have pods, and the traffic never notices. */
import * as z from 'zod';
import { expect, it } from 'vitest';
import { connectCluster } from 'kind-test-harness';
import { withOwnNamespaces } from '../../stack/own-namespaces.ts';
import { until } from '../../stack/observe.ts';
import { apply } from '../../stack/operator.ts';
import {
  applyFleet,
  policyOn,
  PURPOSE,
  serves,
  startTraffic,
  untilTraffic,
  waitForFleet,
} from '../cnf.ts';
import { watchPods } from '../pods-seen.ts';

const cluster = withOwnNamespaces(await connectCluster());
const REPLICAS = 2;
const NEVER_MS = -1;
/** For as long the newest set can be looked at. */
const LATE_MS = 15_000;

const setsSchema = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ name: z.string() }),
      spec: z.object({ replicas: z.number().optional(), revision: z.number().optional() }),
      status: z.object({ outcome: z.string().optional() }).default({}),
    }),
  ),
});
const setsIn = async (api: string, namespace: string, plural: string) =>
  setsSchema.parse(await cluster.api.find(`/apis/${api}/namespaces/${namespace}/${plural}`)).items;

it('of templates that change quickly the oldest and the newest set stay, and what was between is superseded', async () => {
  const namespace = await cluster.createNamespace('quick');
  const cnf = { namespace, replicas: REPLICAS, rules: 0 };
  const pods = await watchPods(cluster, namespace, PURPOSE);
  await apply(cluster, namespace, policyOn('late', 'ovn-net3'));
  await applyFleet(cluster, { ...cnf, version: '1', lateMs: 0 });
  const first = await waitForFleet(cluster, namespace, 'the first set', serves(REPLICAS));
  await untilTraffic(cluster, namespace);
  const traffic = await startTraffic(cluster, namespace);
  const counted = pods.count();

  await applyFleet(cluster, { ...cnf, version: '2', lateMs: NEVER_MS });
  const second = await waitForFleet(
    cluster,
    namespace,
    'the second set waits for a rule',
    ({ stage }) => stage === 'Connected',
  );
  await applyFleet(cluster, { ...cnf, version: '3', lateMs: NEVER_MS });
  await waitForFleet(
    cluster,
    namespace,
    'a third set is staged',
    ({ stagedRevision: set }) => set !== undefined && set !== second.stagedRevision,
  );
  await applyFleet(cluster, { ...cnf, version: '4', lateMs: NEVER_MS });
  await applyFleet(cluster, { ...cnf, version: '5', lateMs: LATE_MS });
  const nameOf = (set = ''): string => `${PURPOSE}-${set}`;
  const withPods = async (): Promise<string[]> =>
    (await setsIn('apps/v1', namespace, 'replicasets'))
      .filter(({ spec }) => spec.replicas !== 0)
      .map(({ metadata }) => metadata.name);
  const fifth = await waitForFleet(
    cluster,
    namespace,
    'the newest set is staged',
    ({ stage, stagedRevision: set }) => stage === 'Connected' && set !== second.stagedRevision,
  );
  expect((await withPods()).toSorted()).toEqual(
    [first.currentRevision, fifth.stagedRevision].map(nameOf).toSorted(),
  );
  const last = await waitForFleet(
    cluster,
    namespace,
    'the newest set serves',
    serves(REPLICAS, first.currentRevision),
  );
  const { requests, lost } = await traffic.stop();
  expect(lost).toEqual([]);
  expect(requests).toBeGreaterThan(100);
  expect(counted.fewestReady).toBe(REPLICAS);

  expect(last.currentRevision).toBe(fifth.stagedRevision);
  await until('the newest set alone has pods', 60_000, async () =>
    (await withPods()).join() === nameOf(last.currentRevision) ? true : undefined,
  );
  await until('each set says what became of it', 60_000, async () => {
    const sets = await setsIn('fleet.sdewan.akraino.org/v1alpha1', namespace, 'cnfsets');
    const proven = new Set([nameOf(first.currentRevision), nameOf(last.currentRevision)]);
    const areRight = sets.every(
      ({ metadata, status }) =>
        status.outcome === (proven.has(metadata.name) ? 'Proven' : 'Superseded'),
    );
    return areRight && sets.length > proven.size ? true : undefined;
  });
});
