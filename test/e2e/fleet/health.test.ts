/**
 * A drained node, a pod that is overdue, and a coordinator that hears too few agents to judge
 * anybody.
 */
import * as z from 'zod';
import { expect, it } from 'vitest';
import { connectCluster } from 'kind-test-harness';
import { withOwnNamespaces } from '../../stack/own-namespaces.ts';
import { agentsDown, cnfHangs } from '../../stack/faults.ts';
import { observePods, until } from '../../stack/observe.ts';
import { apply } from '../../stack/operator.ts';
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
} from './cnf.ts';

const cluster = withOwnNamespaces(await connectCluster());

it('replaces an overdue pod, but not while fewer than half of the agents are heard', async () => {
  const namespace = await cluster.createNamespace('overdue');
  const cnf = { namespace, replicas: 3, version: '1', lateMs: 0, rules: 0 };
  await apply(cluster, namespace, policyOn('late', 'ovn-net3'));
  await applyFleet(cluster, { ...cnf, spec: { healthTimeout: '20s' } });
  await waitForFleet(cluster, namespace, 'the first set', serves(3));
  const before = await observePods(cluster, namespace, PURPOSE);
  const [hung, ...others] = before;
  if (!hung) throw new Error('there is no pod');

  const wake = await agentsDown(
    cluster,
    namespace,
    PURPOSE,
    others.map(({ name }) => name),
  );
  await cnfHangs(cluster, namespace, hung.name);
  const held = await waitForFleet(cluster, namespace, 'it says that it replaces nobody', (seen) =>
    (seen.conditions ?? []).some(
      ({ type, status, message }) =>
        type === 'Degraded' && status === 'True' && message.includes('namespaces report'),
    ),
  );
  expect(held.message).toContain(`${hung.name} is not replaced while agents of only `);
  const uids = (pods: readonly { uid: string }[]) => pods.map(({ uid }) => uid).toSorted();
  expect(uids(await observePods(cluster, namespace, PURPOSE))).toEqual(uids(before));

  await wake();
  // Its status says so before the old one has ended.
  await until('the pod that hangs is gone', async () => {
    const there = uids(await observePods(cluster, namespace, PURPOSE));
    return there.includes(hung.uid) ? undefined : true;
  });
  await waitForFleet(
    cluster,
    namespace,
    'as many serve again',
    (seen) => serves(3)(seen) && seen.readyReplicas === 3,
  );
  expect(await eventsOf(cluster, namespace, 'PodReplaced')).toContain(hung.name);
  // Agents of all CNFs count, also of those in the next test.
  await cluster.kubectl(['delete', 'namespace', namespace, '--wait=false']);
});

/** Pods with 200 rules start slowly on a busy machine. */
const DRAIN_SECONDS = 400;

const nodeOf = async (namespace: string, pod: string): Promise<string> => {
  const query = ['get', 'pod', pod, '-n', namespace, '-o', 'jsonpath={.spec.nodeName}'];
  return (await cluster.kubectl(query)).stdout;
};

const budgetSchema = z.object({
  status: z
    .object({
      expectedPods: z.number(),
      desiredHealthy: z.number(),
      disruptionsAllowed: z.number(),
    })
    .optional(),
});

it('kubectl drain of the node of a lone CNF with a PodDisruptionBudget in percent goes through without a lost request', async () => {
  const namespace = await cluster.createNamespace('drained');
  await apply(cluster, namespace, ...trafficRules(), {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: PURPOSE },
    spec: { minAvailable: '100%', selector: { matchLabels: { sdewanPurpose: PURPOSE } } },
  });
  await applyFleet(cluster, { namespace, replicas: 1, version: '1', lateMs: 3_000 });
  await waitForFleet(cluster, namespace, 'the first set', serves(1));
  await untilTraffic(cluster, namespace);
  const [before] = await observePods(cluster, namespace, PURPOSE);
  if (!before) throw new Error('there is no pod');
  const path = `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets/${PURPOSE}`;
  await until('the budget computes', async () => {
    const { status } = budgetSchema.parse(await cluster.api.find(path));
    return status?.expectedPods === 1 && status.desiredHealthy === 1 ? true : undefined;
  });

  const node = await nodeOf(namespace, before.name);
  const traffic = await startTraffic(cluster, namespace);
  // Other tests' pods are none of it.
  const drain = [
    'drain',
    node,
    `--pod-selector=sdewanPurpose=${PURPOSE}`,
    `--timeout=${DRAIN_SECONDS}s`,
  ];
  try {
    await cluster.kubectl([...drain, '--delete-emptydir-data'], {
      timeoutMs: (DRAIN_SECONDS + 10) * 1_000,
    });
    await waitForFleet(cluster, namespace, 'one set serves again', serves(1));
  } finally {
    // The next test needs it.
    await cluster.kubectl(['uncordon', node]);
  }
  const { requests, lost } = await traffic.stop();
  console.log(`drain of a lone CNF: ${lost.length} of ${requests} requests lost`);
  expect(lost).toEqual([]);
  expect(requests).toBeGreaterThan(100);
  const after = await until('one pod is left', async () => {
    const [one, ...others] = await observePods(cluster, namespace, PURPOSE);
    return others.length === 0 ? one : undefined;
  });
  expect(after.uid).not.toBe(before.uid);
  expect(await nodeOf(namespace, after.name)).not.toBe(node);
  expect(await eventsOf(cluster, namespace, 'SetRenewed')).toContain(node);
});
