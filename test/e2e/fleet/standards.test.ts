/**
 * What people and controllers do with Deployments, done with a CNFDeployment and its Deployment.
 */
import * as z from 'zod';
import { expect, it } from 'vitest';
import { connectCluster } from 'kind-test-harness';
import { withOwnNamespaces } from '../../stack/own-namespaces.ts';
import { observePods, until } from '../../stack/observe.ts';
import { apply } from '../../stack/operator.ts';
import {
  applyFleet,
  eventsOf,
  policyOn,
  PURPOSE,
  serves,
  waitForFleet,
  type SeenFleet,
} from './cnf.ts';
import { watchPods } from './pods-seen.ts';

const cluster = withOwnNamespaces(await connectCluster());

const autoscalerSchema = z.object({
  status: z
    .object({
      currentReplicas: z.number().optional(),
      conditions: z
        .array(z.object({ type: z.string(), status: z.string(), reason: z.string() }))
        .optional(),
    })
    .optional(),
});

const hasBegun = ({ stage }: SeenFleet): boolean => stage !== undefined && stage !== 'Current';

it.concurrent('autoscalers find it, kubectl scale rolls nothing, and kubectl rollout does what it says, but for undo', async () => {
  const namespace = await cluster.createNamespace('standards');
  const at = ['-n', namespace];
  const deployment = `deployment/${PURPOSE}`;
  const cnf = { namespace, replicas: 1, lateMs: 0, rules: 0, spec: { soakSeconds: 1 } };
  await apply(cluster, namespace, policyOn('late', 'ovn-net3'), {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: { name: PURPOSE },
    spec: {
      scaleTargetRef: {
        apiVersion: 'fleet.sdewan.akraino.org/v1alpha1',
        kind: 'CNFDeployment',
        name: PURPOSE,
      },
      minReplicas: 1,
      maxReplicas: 4,
      metrics: [
        {
          type: 'Resource',
          resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } },
        },
      ],
    },
  });
  await applyFleet(cluster, { ...cnf, version: '1' });
  const first = await waitForFleet(cluster, namespace, 'the first set', serves(1));
  const [pod] = await observePods(cluster, namespace, PURPOSE);

  // There are no metrics here. Without a selector the reason would be InvalidSelector.
  const path = `/apis/autoscaling/v2/namespaces/${namespace}/horizontalpodautoscalers/${PURPOSE}`;
  await until('the autoscaler has found replicas and selector', async () => {
    const { status } = autoscalerSchema.parse(await cluster.api.find(path));
    const of = (type: string) => status?.conditions?.find((each) => each.type === type);
    const hasFound =
      of('AbleToScale')?.status === 'True' &&
      of('ScalingActive')?.reason === 'FailedGetResourceMetric' &&
      status?.currentReplicas === 1;
    return hasFound ? true : undefined;
  });
  // Below its minimum it scales without any metrics.
  const least = JSON.stringify({ spec: { minReplicas: 2 } });
  await cluster.kubectl(['patch', 'hpa', PURPOSE, '--type=merge', '-p', least, ...at]);
  const scaled = await waitForFleet(cluster, namespace, 'two of the same set', serves(2));
  expect(scaled.currentRevision).toBe(first.currentRevision);
  const uids = async () =>
    (await observePods(cluster, namespace, PURPOSE))
      .filter(({ terminating }) => !terminating)
      .map(({ uid }) => uid)
      .toSorted();
  const old = await uids();
  expect(old).toContain(pod?.uid);
  await cluster.kubectl(['delete', 'hpa', PURPOSE, ...at]);

  await applyFleet(cluster, { ...cnf, replicas: 2, version: '2' });
  const rolled = ['rollout', 'status', deployment, '--timeout=500s', ...at];
  await waitForFleet(cluster, namespace, 'it has begun', hasBegun);
  await cluster.kubectl(rolled);
  const made = await uids();
  expect(made).toHaveLength(2);
  expect(old.filter((uid) => made.includes(uid))).toEqual([]);
  const second = await waitForFleet(cluster, namespace, 'the second set', serves(2));
  expect(second.currentRevision).not.toBe(first.currentRevision);

  await cluster.kubectl(['rollout', 'undo', deployment, ...at]);
  await until('an Event says that it was undone', async () =>
    (await eventsOf(cluster, namespace, 'DeploymentReverted')) === '' ? undefined : true,
  );
  await cluster.kubectl(rolled);
  const still = await waitForFleet(cluster, namespace, 'the second set serves on', serves(2));
  expect(still.currentRevision).toBe(second.currentRevision);
  await until('its pods alone are there, the same ones', async () =>
    (await uids()).join() === made.join() ? true : undefined,
  );

  await cluster.kubectl(['rollout', 'restart', deployment, ...at]);
  await waitForFleet(
    cluster,
    namespace,
    'a third set of the same template',
    serves(2, second.currentRevision),
  );

  const pods = await watchPods(cluster, namespace, PURPOSE);
  const [active] = await until('one is active', async () => {
    const found = pods.active();
    return pods.ready().length === 2 && found.length === 1 ? found : undefined;
  });
  await cluster.kubectl(['scale', `cnfdeploy/${PURPOSE}`, '--replicas=1', ...at]);
  await waitForFleet(
    cluster,
    namespace,
    'one of two',
    (seen) => serves(1)(seen) && seen.readyReplicas === 1,
  );
  expect(pods.ready().map(({ uid }) => uid)).toEqual([active?.uid]);
});
