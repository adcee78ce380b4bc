/** What a set of pods that does not get every rule does to those that serve. */
import { expect, it } from 'vitest';
import { connectCluster } from 'kind-test-harness';
import { withOwnNamespaces } from '../stack/own-namespaces.ts';
import { observePods, until } from '../stack/observe.ts';
import { apply } from '../stack/operator.ts';
import {
  applyFleet,
  eventsOf,
  policyOn,
  PURPOSE,
  serves,
  startTraffic,
  trafficRules,
  untilTraffic,
  waitForFleet,
  type SeenFleet,
} from './cnf.ts';

const cluster = withOwnNamespaces(await connectCluster());

const uids = async (namespace: string): Promise<string[]> =>
  (await observePods(cluster, namespace, PURPOSE)).map(({ uid }) => uid).sort();

const conditionOf = ({ conditions }: SeenFleet, type: string) =>
  conditions?.find((each) => each.type === type);

it('a set that never gets one rule goes away at the deadline, and the pods of before serve on', async () => {
  const namespace = await cluster.createNamespace('back');
  const cnf = { namespace, replicas: 1, spec: { progressDeadline: '25s' } };
  await apply(cluster, namespace, ...trafficRules());
  await applyFleet(cluster, { ...cnf, version: '1', lateMs: 0 });
  const first = await waitForFleet(cluster, namespace, 'the first set', serves(1));
  await untilTraffic(cluster, namespace);
  const before = await uids(namespace);

  const traffic = await startTraffic(cluster, namespace);
  await applyFleet(cluster, { ...cnf, version: '2', lateMs: -1 });
  const failed = await waitForFleet(
    cluster,
    namespace,
    'the second set has failed',
    (seen) => conditionOf(seen, 'Degraded')?.status === 'True',
  );
  await until('the new pods are gone', 60_000, async () =>
    (await uids(namespace)).join() === before.join() ? true : undefined,
  );
  const { requests, lost } = await traffic.stop();

  expect(lost).toEqual([]);
  expect(requests).toBeGreaterThan(100);
  expect(failed.currentRevision).toBe(first.currentRevision);
  expect(conditionOf(failed, 'Degraded')?.message).toContain('Mwan3Policy late');
  await until('an Event names the rule', 30_000, async () =>
    (await eventsOf(cluster, namespace, 'RollOutFailed')).includes('Mwan3Policy late')
      ? true
      : undefined,
  );
});

it('a rule that is in force on neither set stops nothing, and is named', async () => {
  const namespace = await cluster.createNamespace('excused');
  const cnf = { namespace, replicas: 1, lateMs: 0 };
  await apply(cluster, namespace, ...trafficRules(), policyOn('never', 'ovn-net4'));
  const isCurrent = ({ stage }: SeenFleet): boolean => stage === 'Current';
  await applyFleet(cluster, { ...cnf, version: '1' });
  const first = await waitForFleet(cluster, namespace, 'the first set', isCurrent);
  await untilTraffic(cluster, namespace);

  await applyFleet(cluster, { ...cnf, version: '2' });
  await waitForFleet(
    cluster,
    namespace,
    'the second set',
    (seen) => isCurrent(seen) && seen.currentRevision !== first.currentRevision,
  );
  await until('an Event names the rule', 30_000, async () =>
    (await eventsOf(cluster, namespace, 'HandedOver')).includes('Mwan3Policy never')
      ? true
      : undefined,
  );
});
