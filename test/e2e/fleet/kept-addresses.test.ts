/**
 * A CNFDeployment that keeps its addresses, with the agent in its pods: the pod after a deletion,
 * an eviction and a roll-out has those of the pod before, and every rule.
 */
import { afterAll, expect, it } from 'vitest';
import { connectCluster } from 'kind-test-harness';
import {
  KEEP_ADDRESSES_ANNOTATION,
  NETWORK_PORTS_ANNOTATION,
  NFN_NETWORK_ANNOTATION,
  PORTS_ROLE,
} from '#shared/names.ts';
import { cnfObjects } from '../../stack/cnf.ts';
import { managedNetwork } from '../../stack/managed-network.ts';
import { observePods, until } from '../../stack/observe.ts';
import { apply } from '../../stack/operator.ts';
import { withOwnNamespaces } from '../../stack/own-namespaces.ts';
import { zone } from '../../stack/rules.ts';
import { mayRoll, PURPOSE, serves, waitForFleet } from './cnf.ts';

const cluster = withOwnNamespaces(await connectCluster());
afterAll(async () => {
  await cluster.kubectl(['delete', 'managednetwork', 'kept', '--ignore-not-found']);
});

const NETWORKS = ['kept-net1', 'kept-net2'];
const interfaces = NETWORKS.map((name, at) => ({
  name,
  interface: `net${at + 1}`,
  defaultGateway: 'false',
}));
const annotations = {
  [NFN_NETWORK_ANNOTATION]: JSON.stringify({ type: 'ovn4nfv', interface: interfaces }),
  [KEEP_ADDRESSES_ANNOTATION]: 'true',
};
const managed = (namespace: string): object =>
  managedNetwork('kept', {
    names: NETWORKS,
    subnets: [{ cidr: '10.8.0.0/24', ranges: ['10.8.0.10-10.8.0.19'] }],
    namespaces: [namespace],
  });

it('has its addresses in each next pod, with every rule', async () => {
  const namespace = await cluster.createNamespace('kept');
  const fleet = async (version: string): Promise<void> => {
    const cnf = { namespace, purpose: PURPOSE, replicas: 1 };
    const objects = await cnfObjects({ ...cnf, annotations: { ...annotations, version } });
    const { spec } = Object(objects.at(-1));
    await apply(cluster, namespace, ...objects.slice(0, -1), {
      apiVersion: 'fleet.sdewan.akraino.org/v1alpha1',
      kind: 'CNFDeployment',
      metadata: { name: PURPOSE },
      spec: {
        replicas: 1,
        strategy: 'Recreate',
        selector: spec.selector,
        template: spec.template,
        soakSeconds: 1,
      },
    });
  };
  const { roleRef } = mayRoll;
  await apply(cluster, namespace, mayRoll, zone('lan1', 'kept-net1'), {
    ...mayRoll,
    metadata: { name: 'addresses' },
    roleRef: { ...roleRef, name: PORTS_ROLE },
  });
  await cluster.kubectl(['apply', '-f', '-'], { stdin: JSON.stringify(managed(namespace)) });
  await until('the network gives addresses', async () => {
    const ready = 'jsonpath={.status.conditions[?(@.type=="Adopted")].status}';
    const { stdout } = await cluster.kubectl(['get', 'mnet', 'kept', '-o', ready]);
    return stdout === 'True' ? true : undefined;
  });

  const annotationsOf = async (pod: string): Promise<string[]> => {
    const { stdout } = await cluster.kubectl(['get', 'pod', pod, '-n', namespace, '-o', 'json']);
    const { metadata } = JSON.parse(stdout);
    return [NFN_NETWORK_ANNOTATION, NETWORK_PORTS_ANNOTATION].map(
      (name) => metadata.annotations[name],
    );
  };
  /** Another one than before, that serves with every rule. */
  const servingPod = async (before?: { uid: string }) => {
    const next = await until('there is another pod', async () => {
      const pods = await observePods(cluster, namespace, PURPOSE);
      const [pod, ...others] = pods.filter(({ uid }) => uid !== before?.uid);
      return pod?.ready === true && others.length === 0 ? pod : undefined;
    });
    await waitForFleet(cluster, namespace, 'it serves', serves(1));
    return next;
  };

  await fleet('1');
  let pod = await servingPod();
  const had = await annotationsOf(pod.name);
  expect(had[0]).toMatch(/"ipAddress":"10\.8\.0\.1\d".*"ipAddress":"10\.8\.0\.1\d"/);
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction' };
  const ends: readonly ((name: string) => Promise<unknown>)[] = [
    (name) => cluster.kubectl(['delete', 'pod', name, '-n', namespace, '--wait=false']),
    (name) =>
      cluster.kubectl(
        ['create', '--raw', `/api/v1/namespaces/${namespace}/pods/${name}/eviction`, '-f', '-'],
        { stdin: JSON.stringify({ ...eviction, metadata: { name, namespace } }) },
      ),
    () => fleet('2'),
  ];
  for (const end of ends) {
    await end(pod.name);
    pod = await servingPod(pod);
    expect(await annotationsOf(pod.name)).toEqual(had);
  }
  await cluster.kubectl(['delete', 'cnfdeployment', PURPOSE, '-n', namespace]);
  await cluster.kubectl(['delete', 'deployment', '--all', '-n', namespace]);
  await until('the addresses are given back', async () => {
    const claimed = 'jsonpath={.status.claimed}';
    const { stdout } = await cluster.kubectl(['get', 'mnet', 'kept', '-o', claimed]);
    return stdout === '0' ? true : undefined;
  });
});
