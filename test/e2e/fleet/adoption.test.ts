/** A Deployment of people becomes that of a CNFDeployment under traffic, and is rolled. */
import { expect, it } from 'vitest';
import { connectCluster } from 'kind-test-harness';
import { withOwnNamespaces } from '../../stack/own-namespaces.ts';
import { observePods, until } from '../../stack/observe.ts';
import { apply, waitInSync } from '../../stack/operator.ts';
import { sdewan } from '../../stack/sdewan.ts';
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
import { journalOf, type Journal } from './journal.ts';

const cluster = withOwnNamespaces(await connectCluster());

/** Without reloads, which may end after what they were for is in force. */
const changesIn = (journal: Journal): Journal =>
  journal.filter(({ event }) => ['start', 'write', 'amend'].includes(event));

it('keeps the pods of an adopted Deployment and their configuration, and rolls without loss', async () => {
  const namespace = await cluster.createNamespace('adopted');
  const cnf = { namespace, replicas: 1, lateMs: 3_000 };
  const rules = trafficRules();
  await apply(cluster, namespace, ...rules);
  await applyPlain(cluster, { ...cnf, version: '1' });
  await waitInSync(cluster, namespace, rules);
  await untilTraffic(cluster, namespace);
  const [pod, ...others] = await observePods(cluster, namespace, PURPOSE);
  if (!pod || others.length > 0) throw new Error('there is not one pod');
  const before = await journalOf(cluster, namespace, pod.name);
  const traffic = await startTraffic(cluster, namespace);

  await applyFleet(cluster, { ...cnf, version: '1' });
  await waitForFleet(cluster, namespace, 'it is told that the name is taken', ({ message = '' }) =>
    message.includes(`sdewan rollout adopt ${PURPOSE}`),
  );
  const { code, out } = await sdewan(cluster, 'rollout', 'adopt', PURPOSE, '-n', namespace);
  expect([code, out]).toEqual([
    0,
    `${PURPOSE}: Deployment ${PURPOSE} is its own from now on, and its pods stay\n`,
  ]);
  const first = await waitForFleet(cluster, namespace, 'the adopted set serves', serves(1));
  expect(await observePods(cluster, namespace, PURPOSE)).toMatchObject([{ uid: pod.uid }]);
  expect(changesIn(before).length).toBeGreaterThan(0);
  expect(changesIn(await journalOf(cluster, namespace, pod.name))).toEqual(changesIn(before));

  await applyFleet(cluster, { ...cnf, version: '2' });
  await waitForFleet(cluster, namespace, 'the second set', serves(1, first.currentRevision));
  await until('the adopted pod is gone', async () => {
    const there = await observePods(cluster, namespace, PURPOSE);
    return there.some(({ uid }) => uid === pod.uid) ? undefined : true;
  });
  const { requests, lost } = await traffic.stop();
  console.log(`adoption and its first roll: ${lost.length} of ${requests} requests lost`);
  expect(lost).toEqual([]);
  expect(requests).toBeGreaterThan(100);
});
