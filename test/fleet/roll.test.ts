/** Roll-outs under steady traffic through a Service, on real pods with agents: what is lost, and what it would be without the gate. */
import { expect, it } from 'vitest';
import { connectCluster } from 'kind-test-harness';
import { withOwnNamespaces } from '../stack/own-namespaces.ts';
import { observePods, until } from '../stack/observe.ts';
import { apply, waitInSync } from '../stack/operator.ts';
import {
  applyFleet,
  applyPlain,
  PURPOSE,
  serves,
  startTraffic,
  trafficRules,
  untilTraffic,
  waitForFleet,
} from './cnf.ts';
import { watchPods } from './pods-seen.ts';

const cluster = withOwnNamespaces(await connectCluster());
const LATE_MS = 3_000;

it.each<[number, object, object]>([
  [1, { sdewanPurpose: PURPOSE, 'sdewan.akraino.org/active': 'true' }, {}],
  [3, { sdewanPurpose: PURPOSE }, {}],
  // With the label alone a Service has one pod at a time, which is the last to be replaced.
  [2, { sdewanPurpose: PURPOSE, 'sdewan.akraino.org/active': 'true' }, { surge: 1 }],
])(
  'a roll of %i replicas with 200 rules loses no request (Service %j, spec %j)',
  async (replicas, selector, spec) => {
    const namespace = await cluster.createNamespace('roll');
    const cnf = { namespace, replicas, lateMs: LATE_MS, spec };
    const pods = await watchPods(cluster, namespace, PURPOSE);
    await apply(cluster, namespace, ...trafficRules());
    await applyFleet(cluster, { ...cnf, version: '1' }, selector);
    const first = await waitForFleet(cluster, namespace, 'the first set', serves(replicas));
    await untilTraffic(cluster, namespace);
    const before = await observePods(cluster, namespace, PURPOSE);

    const traffic = await startTraffic(cluster, namespace);
    const counted = pods.count();
    await applyFleet(cluster, { ...cnf, version: '2' }, selector);
    await waitForFleet(
      cluster,
      namespace,
      'the second set',
      serves(replicas, first.currentRevision),
    );
    await until('the old pods are gone', 60_000, async () => {
      const there = new Set((await observePods(cluster, namespace, PURPOSE)).map(({ uid }) => uid));
      return before.some(({ uid }) => there.has(uid)) ? undefined : true;
    });
    const { requests, lost } = await traffic.stop();
    console.log(`roll of ${replicas}: ${lost.length} of ${requests} requests lost`);

    expect(lost).toEqual([]);
    expect(requests).toBeGreaterThan(100);
    expect(counted.fewestReady).toBeGreaterThanOrEqual(replicas);
    expect(counted.most).toBe('surge' in spec ? replicas + 1 : 2 * replicas);
  },
);

it('without the gate the same roll loses requests', async () => {
  const namespace = await cluster.createNamespace('plain');
  const cnf = { namespace, replicas: 1, lateMs: LATE_MS };
  const rules = trafficRules();
  await apply(cluster, namespace, ...rules);
  await applyPlain(cluster, { ...cnf, version: '1' });
  await waitInSync(cluster, namespace, rules, 120_000);
  await untilTraffic(cluster, namespace);

  const traffic = await startTraffic(cluster, namespace);
  await applyPlain(cluster, { ...cnf, version: '2' });
  const timeout = ['--timeout=120s', `deployment/${PURPOSE}`];
  await cluster.kubectl(['rollout', 'status', '-n', namespace, ...timeout], { timeoutMs: 125_000 });
  await waitInSync(cluster, namespace, rules, 120_000);
  const { requests, lost } = await traffic.stop();
  console.log(`plain roll: ${lost.length} of ${requests} requests lost`);
  expect(lost.length).toBeGreaterThan(0);
});
