/**
 * Roll-outs under steady traffic through a Service: what was lost, and what one watch saw of the
 * pods.
 */
import type { Cluster } from 'kind-test-harness';
import { observePods, until } from '../../stack/observe.ts';
import { apply, waitInSync } from '../../stack/operator.ts';
import {
  applyFleet,
  applyPlain,
  PURPOSE,
  serves,
  startTraffic,
  trafficRules,
  untilTraffic,
  waitForFleet,
  type FleetCnf,
} from './cnf.ts';
import { watchPods, type Counted } from './pods-seen.ts';

/** Later than the first pass: a rule is Pending when the pods could be Ready. */
const LATE_MS = 3_000;

export type Rolled = {
  requests: number;
  lost: string[];
  servedBy: ReadonlySet<string>;
  /** See `PodsSeen.count`. */
  counted: Counted;
};

type Roll = Pick<FleetCnf, 'replicas' | 'spec'> & { selector?: object };

/**
 * A roll-out of a CNFDeployment with 200 rules, in a namespace of its own, until the old pods are
 * gone.
 */
export const rollFleet = async (cluster: Cluster, { selector, ...kind }: Roll): Promise<Rolled> => {
  const namespace = await cluster.createNamespace('roll');
  // As long as that of the same Deployment.
  const spec = { soakSeconds: 3, ...kind.spec };
  const cnf = { ...kind, spec, namespace, lateMs: LATE_MS };
  const { replicas } = cnf;
  const pods = await watchPods(cluster, namespace, PURPOSE);
  await apply(cluster, namespace, ...trafficRules());
  await applyFleet(cluster, { ...cnf, version: '1' }, selector);
  const first = await waitForFleet(cluster, namespace, 'the first set', serves(replicas));
  await untilTraffic(cluster, namespace);
  // In sync comes first: the kubelet finds a pod ready by a probe.
  await until('each of its pods is ready', async () =>
    pods.ready().length === replicas ? true : undefined,
  );
  const before = await observePods(cluster, namespace, PURPOSE);

  const traffic = await startTraffic(cluster, namespace);
  const counted = pods.count();
  await applyFleet(cluster, { ...cnf, version: '2' }, selector);
  const isNext = serves(replicas, first.currentRevision);
  await waitForFleet(cluster, namespace, 'the second set', isNext);
  await until('the old pods are gone', async () => {
    const there = new Set((await observePods(cluster, namespace, PURPOSE)).map(({ uid }) => uid));
    return before.some(({ uid }) => there.has(uid)) ? undefined : true;
  });
  const seen = { ...(await traffic.stop()), counted };
  const { fewestReady, whenFewest } = counted;
  console.log(
    `roll of ${replicas}: ${seen.lost.length} of ${seen.requests} requests lost; at least ${fewestReady} ready: ${JSON.stringify(whenFewest)}`,
  );
  return seen;
};

/** The same of a Deployment, which has no gate: how many requests were lost. */
export const rollPlain = async (cluster: Cluster, replicas: number): Promise<number> => {
  const namespace = await cluster.createNamespace('plain');
  const cnf = { namespace, replicas, lateMs: LATE_MS };
  const rules = trafficRules();
  await apply(cluster, namespace, ...rules);
  await applyPlain(cluster, { ...cnf, version: '1' });
  await waitInSync(cluster, namespace, rules);
  await untilTraffic(cluster, namespace);

  const traffic = await startTraffic(cluster, namespace);
  await applyPlain(cluster, { ...cnf, version: '2' });
  const timeout = ['--timeout=500s', `deployment/${PURPOSE}`];
  await cluster.kubectl(['rollout', 'status', '-n', namespace, ...timeout]);
  await waitInSync(cluster, namespace, rules);
  const { requests, lost } = await traffic.stop();
  console.log(`plain roll of ${replicas}: ${lost.length} of ${requests} requests lost`);
  return lost.length;
};
