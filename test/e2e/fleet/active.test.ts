/**
 * One pod is active and the others stand by: whom a Service reaches, and how soon another one takes
 * over.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { connectCluster } from 'kind-test-harness';
import { caseCount } from '#shared/runtime/testing.ts';
import { withOwnNamespaces } from '../../stack/own-namespaces.ts';
import { agentsDown } from '../../stack/faults.ts';
import { until } from '../../stack/observe.ts';
import { apply } from '../../stack/operator.ts';
import {
  applyFleet,
  policyOn,
  PURPOSE,
  seenFleet,
  serves,
  startTraffic,
  untilTraffic,
  waitForFleet,
} from './cnf.ts';
import { watchPods, type PodsSeen, type SeenPod } from './pods-seen.ts';

const cluster = withOwnNamespaces(await connectCluster());
const REPLICAS = 3;
/** At night fifty. */
const KILLS = Math.min(caseCount(4), 50);
const KILL_MS = 60_000;
const ACTIVE = { 'sdewan.akraino.org/active': 'true' };

/** All are ready, one is active, and each agent has its distance in force. */
const atRest = (namespace: string, pods: PodsSeen): Promise<SeenPod> =>
  until('one of all is active, and each agent has confirmed its distance', async () => {
    const [active, ...others] = pods.active();
    const { stage, distances = [] } = await seenFleet(cluster, namespace);
    const isPlaced =
      stage === 'Current' &&
      distances.length === REPLICAS &&
      distances.every(({ confirmed }) => confirmed) &&
      distances[0]?.pod === active?.name;
    return pods.ready().length === REPLICAS && others.length === 0 && isPlaced ? active : undefined;
  });

const percentile = (times: readonly number[], share: number): number =>
  Math.round(times.toSorted((a, b) => a - b)[Math.ceil(share * times.length) - 1] ?? NaN);

it(
  'reaches one CNF by a Service of the active one, and another as soon as that is gone or its agent is silent; nothing moves back',
  async () => {
    const namespace = await cluster.createNamespace('active');
    const cnf = { namespace, replicas: REPLICAS, version: '1', lateMs: 0, rules: 0 };
    await apply(cluster, namespace, policyOn('late', 'ovn-net3'));
    const pods = await watchPods(cluster, namespace, PURPOSE);
    await applyFleet(cluster, cnf, ACTIVE);
    await waitForFleet(cluster, namespace, 'the first set', serves(REPLICAS));
    const first = await atRest(namespace, pods);
    await untilTraffic(cluster, namespace);
    const traffic = await startTraffic(cluster, namespace);
    await sleep(2_000);
    const { lost, servedBy } = await traffic.stop();
    expect(lost).toEqual([]);
    expect([...servedBy]).toEqual([first.ip]);

    const times: number[] = [];
    for (let kill = 0; kill < KILLS; kill += 1) {
      const { name, uid } = await atRest(namespace, pods);
      const lose = (): Promise<unknown> =>
        kill % 2 === 0
          ? cluster.kubectl(['delete', 'pod', name, '-n', namespace, '--grace-period=0', '--force'])
          : cluster.killContainer({ namespace, pod: name, container: 'sdewan' }, 'SIGKILL');
      let losses = pods.losses(uid);
      await lose();
      const { ms, by } = await until('another one is active', async () => {
        const isBack = pods.losses(uid) > losses && pods.active().some((pod) => pod.uid === uid);
        // It was ready again before the coordinator had seen that it was not.
        if (isBack && !pods.takeoverMs(uid)) {
          losses = pods.losses(uid);
          await lose();
        }
        return pods.takeoverMs(uid);
      });
      times.push(ms);
      // The one that was lost comes back, or another one in its place: nothing moves.
      expect((await atRest(namespace, pods)).uid).toBe(by.uid);
    }
    const [p50, p99] = [percentile(times, 0.5), percentile(times, 0.99)];
    console.log(`${KILLS} takeovers: p50 ${p50} ms, p99 ${p99} ms, by one watch`);

    const silent = await atRest(namespace, pods);
    const stoppedAt = performance.now();
    const wake = await agentsDown(cluster, namespace, PURPOSE, [silent.name]);
    const next = await until('another one is active while an agent is silent', async () => {
      const [active, ...others] = pods.active();
      return others.length === 0 && active?.uid !== silent.uid ? active : undefined;
    });
    console.log(
      `silent agent: ${Math.round(performance.now() - stoppedAt)} ms after it was stopped`,
    );
    await wake();
    expect((await atRest(namespace, pods)).uid).toBe(next?.uid);
    const { distances } = await seenFleet(cluster, namespace);
    expect(distances?.map(({ distance }) => distance)).toEqual([0, 1, 2]);
  },
  900_000 + KILLS * KILL_MS,
);
