/**
 * A Deployment of people becomes that of a CNFDeployment under traffic, and is rolled; also one
 * that ICN's controller has configured, with no agent in its pods.
 */
import { expect, it } from 'vitest';
import { connectCluster } from 'kind-test-harness';
import { withOwnNamespaces } from '../../stack/own-namespaces.ts';
import { observePods, until } from '../../stack/observe.ts';
import { apply, waitInSync } from '../../stack/operator.ts';
import { sdewan } from '../../stack/sdewan.ts';
import {
  applyFleet,
  applyPlain,
  policyOn,
  PURPOSE,
  serves,
  startTraffic,
  trafficRules,
  untilTraffic,
  waitForFleet,
} from './cnf.ts';
import { zone, type Rule } from '../../stack/rules.ts';
import { journalOf, type Journal } from './journal.ts';
import { askOpenwrt } from './openwrt.ts';

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

const INJECT = 'sdewan.akraino.org/inject';

/** As ICN's controller leaves a rule that it has applied. */
const appliedByIcn = (each: Rule, finalizer: string) => ({
  ...each,
  metadata: { ...each.metadata, finalizers: [`${finalizer}.finalizers.sdewan.akraino.org`] },
});
const POLICY_OF_ICN = `
config member 'late_net3'
\toption interface 'net3'
\toption metric '1'
\toption weight '1'

config policy 'late'
\tlist use_member 'late_net3'
`;

it('takes a CNF without agents over from ICN\u2019s controller in one go, without loss', async () => {
  const namespace = await cluster.createNamespace('icn');
  await cluster.kubectl(['label', 'namespace', namespace, `${INJECT}=disabled`]);
  const cnf = { namespace, replicas: 1, lateMs: 0, rules: 0 };
  const rules = [zone('lan1', 'ovn-net1'), policyOn('late', 'ovn-net3')];
  const [lan1, late] = rules;
  if (!lan1 || !late) throw new Error('there are no rules');
  await applyPlain(cluster, { ...cnf, version: '1' });
  const [pod] = await until('the pod of ICN runs', async () => {
    const there = await observePods(cluster, namespace, PURPOSE);
    return there.some(({ ready }) => ready) ? there : undefined;
  });
  if (!pod) throw new Error('there is no pod');
  const at = { namespace, pod: pod.name, path: '/config/mwan3' };
  const mwan3 = await until('its administrator has brought the interface', async () => {
    const text = await askOpenwrt(cluster, at);
    return text.includes("config interface 'net3'") ? text : undefined;
  });
  await askOpenwrt(cluster, { ...at, put: `${mwan3}${POLICY_OF_ICN}` });
  await apply(cluster, namespace, appliedByIcn(lan1, 'rule'), appliedByIcn(late, 'mwan3policy'));
  await untilTraffic(cluster, namespace);
  const traffic = await startTraffic(cluster, namespace);

  await cluster.kubectl(['label', 'namespace', namespace, `${INJECT}-`]);
  await applyFleet(cluster, { ...cnf, version: '2' });
  const adopted = await sdewan(cluster, 'rollout', 'adopt', PURPOSE, '-n', namespace);
  expect(adopted.code).toBe(0);
  await waitForFleet(cluster, namespace, 'a set with agents serves', serves(1));
  await until('the pod of ICN is gone', async () => {
    const there = await observePods(cluster, namespace, PURPOSE);
    return there.some(({ uid }) => uid === pod.uid) ? undefined : true;
  });
  await waitInSync(cluster, namespace, rules);
  const { requests, lost } = await traffic.stop();
  console.log(`from ICN's controller: ${lost.length} of ${requests} requests lost`);
  expect(lost).toEqual([]);
  expect(requests).toBeGreaterThan(100);
});
