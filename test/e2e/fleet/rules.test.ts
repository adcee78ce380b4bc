/** What a set of pods that does not get every rule does to those that serve. */
import { expect, it } from 'vitest';
import { connectCluster } from 'kind-test-harness';
import { ROLL_SET_ANNOTATION } from '#shared/names.ts';
import { withOwnNamespaces } from '../../stack/own-namespaces.ts';
import { observePods, until } from '../../stack/observe.ts';
import { apply } from '../../stack/operator.ts';
import {
  applyFleet,
  eventsOf,
  policyOn,
  PURPOSE,
  serves,
  startTraffic,
  untilTraffic,
  waitForFleet,
  type SeenFleet,
} from './cnf.ts';

const cluster = withOwnNamespaces(await connectCluster());

const uids = async (namespace: string): Promise<string[]> =>
  (await observePods(cluster, namespace, PURPOSE)).map(({ uid }) => uid).sort();

const conditionOf = ({ conditions }: SeenFleet, type: string) =>
  conditions?.find((each) => each.type === type);

it.concurrent('takes a set that never gets one rule away at the deadline, and the pods of before serve on', async () => {
  const namespace = await cluster.createNamespace('back');
  const cnf = { namespace, replicas: 1, rules: 0, spec: { progressDeadline: '25s' } };
  await apply(cluster, namespace, policyOn('late', 'ovn-net3'));
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
  await until('the new pods are gone', async () =>
    (await uids(namespace)).join() === before.join() ? true : undefined,
  );
  const { requests, lost } = await traffic.stop();

  expect(lost).toEqual([]);
  expect(requests).toBeGreaterThan(100);
  expect(failed.currentRevision).toBe(first.currentRevision);
  const named = /Mwan3Policy late: \w+ \(on cnf-1-/;
  expect(conditionOf(failed, 'Degraded')?.message).toMatch(named);
  await until('an Event names pod and rule', async () =>
    named.test(await eventsOf(cluster, namespace, 'RollOutFailed')) ? true : undefined,
  );

  // Another look at another generation of the same template.
  const longer = ['--type=merge', '-p', JSON.stringify({ spec: { progressDeadline: '26s' } })];
  await cluster.kubectl(['patch', `cnfdeploy/${PURPOSE}`, ...longer, '-n', namespace]);
  const still = await waitForFleet(
    cluster,
    namespace,
    'it has looked again',
    ({ stage }) => stage !== undefined,
  );
  expect([still.stage, still.failedRevision, await uids(namespace)]).toEqual([
    'Failed',
    failed.failedRevision,
    before,
  ]);
  const asked = ['annotate', `cnfdeploy/${PURPOSE}`, `${ROLL_SET_ANNOTATION}=again`];
  await cluster.kubectl([...asked, '-n', namespace]);
  await waitForFleet(
    cluster,
    namespace,
    'it is tried again',
    ({ stage }) => stage === 'Staged' || stage === 'Connected',
  );
});

it.concurrent('stops nothing for a rule that is in force on neither set, and names it; rules stay when the CNFDeployment is gone', async () => {
  const namespace = await cluster.createNamespace('excused');
  const cnf = { namespace, replicas: 1, lateMs: 0, rules: 0 };
  await apply(cluster, namespace, policyOn('late', 'ovn-net3'), policyOn('never', 'ovn-net4'));
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
  await until('an Event names the rule', async () =>
    (await eventsOf(cluster, namespace, 'HandedOver')).includes('Mwan3Policy never')
      ? true
      : undefined,
  );

  const at = ['-n', namespace];
  await cluster.kubectl(['delete', 'cnfdeploy', PURPOSE, ...at, '--timeout=500s']);
  const made =
    'deployments,replicasets,pods,cnfsets.fleet.sdewan.akraino.org,cnfs.fleet.sdewan.akraino.org';
  await until('all that was made of it is gone', async () =>
    (await cluster.kubectl(['get', made, ...at, '-o', 'name'])).stdout === '' ? true : undefined,
  );
  const { stdout } = await cluster.kubectl(['get', 'mwan3policies', ...at, '-o', 'name']);
  expect(stdout.trim().split('\n')).toEqual([
    expect.stringMatching(/\/late$/),
    expect.stringMatching(/\/never$/),
  ]);
});
