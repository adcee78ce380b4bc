/**
 * A tenant uses a managed network up for all others, or has an address of their pods for its own,
 * by annotations of its pods: which addresses they have, or which one they fix.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  KEEP_ADDRESSES_ANNOTATION,
  NETWORK_STATUS_ANNOTATION,
  NETWORKS_ANNOTATION,
  NFN_NETWORK_ANNOTATION,
} from '#shared/names.ts';
import { REST_MS } from '../../coordinator/controllers/network-ports/decide.ts';
import {
  createManagedNetworks,
  FORCED,
  GATED,
  nodus,
  podSpec,
  type ManagedNetworks,
} from '../integration/coordinator/managed-networks.ts';
import { eventually } from '../integration/support/eventually.ts';

const NETWORK = 'attacked';
const NODE = 'attacked-node';
const ADDRESSES = ['10.90.0.10', '10.90.0.11'];

let networks: ManagedNetworks;
let tenant: string;
let asTenant: string;
beforeAll(async () => {
  networks = await createManagedNetworks([NODE]);
  const { fixture } = networks;
  tenant = await fixture.createNamespace();
  await fixture.kubectl('create', 'serviceaccount', 'tenant', '-n', tenant);
  const edit = ['--clusterrole=edit', `--serviceaccount=${tenant}:tenant`];
  await fixture.kubectl('create', 'rolebinding', 'tenant', '-n', tenant, ...edit);
  asTenant = await fixture.kubeconfigOf(tenant, 'tenant');
});
afterAll(() => networks.close());

/** It says that it has these addresses in the attachment of that name. */
const saying = (name: string, namespace: string, attachment: string, ...ips: string[]) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name,
    namespace,
    annotations: {
      [NETWORKS_ANNOTATION]: 'net@net1',
      [NETWORK_STATUS_ANNOTATION]: JSON.stringify(
        ips.map((ip, at) => ({ name: attachment, interface: `net${at + 1}`, ips: [ip] })),
      ),
    },
  },
  spec: podSpec({ nodeName: NODE }),
});
const waiting = (name: string, annotations: object) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: networks.namespace, annotations },
  spec: podSpec(GATED),
});
const madeByTenant = async (pod: object): Promise<void> => {
  const args = ['--kubeconfig', asTenant, 'create', '-f', '-'];
  const stdin = JSON.stringify(pod);
  const made = await networks.fixture.cluster.kubectl(args, { stdin, allowFailure: true });
  expect(made).toMatchObject({ code: 0 });
};

it('keeps no address from the pods of others by what its own pods say', async () => {
  const { applied, claimedOf, ready, statusOf } = networks;
  await ready(NETWORK, 90, 2, { names: [`net-${NETWORK}`, `${tenant}/net`] });
  await eventually(() => statusOf(NETWORK)).toMatchObject({ free: 2 });
  await madeByTenant(saying('liar', tenant, `${tenant}/net`, ...ADDRESSES));
  await eventually(() => statusOf(NETWORK)).toMatchObject({ foreign: 2 });
  await applied(waiting('waits', nodus(`net-${NETWORK}`)));
  await eventually(() => claimedOf(NETWORK)).toEqual([`waits ${ADDRESSES[0]} fd00:90::a`]);
});

it('has none claimed before the network is there, beyond its share or where it gets none', async () => {
  const { applied, claimedOf, ready, statusOf } = networks;
  const all = (third: number) => [10, 11, 12, 13].map((last) => `10.${third}.0.${last}`);
  await madeByTenant(saying('early', tenant, `${tenant}/early`, ...all(93)));
  await madeByTenant(saying('greedy', tenant, `${tenant}/greedy`, ...all(94)));
  await ready('early', 93, 4, { names: ['net-early', `${tenant}/early`], perNamespace: 2 });
  expect(await claimedOf('early')).toEqual([]);
  expect((await statusOf('early'))?.conflicts).toHaveLength(4);
  const namespaces = [networks.namespace, tenant];
  const names = ['net-greedy', `${tenant}/greedy`];
  await ready('greedy', 94, 4, { names, namespaces, perNamespace: 2 });
  expect(await claimedOf('greedy')).toHaveLength(2);
  expect((await statusOf('greedy'))?.conflicts).toHaveLength(2);
  await applied(waiting('after', nodus('net-early', 'net-greedy')));
  for (const name of ['early', 'greedy'])
    await eventually(async () => (await claimedOf(name)).join()).toContain('after ');
});

it('has none claimed that a running pod says it has, by an older pod either', async () => {
  const { applied, claimedOf, namespace, ready, statusOf } = networks;
  await madeByTenant(saying('older', tenant, `${namespace}/net`, '10.95.0.10'));
  await applied(saying('honest', namespace, `${namespace}/net`, '10.95.0.10'));
  const names = ['net-both', `${namespace}/net`];
  await ready('both', 95, 4, { names, namespaces: [namespace, tenant] });
  expect(await claimedOf('both')).toEqual([]);
  const conflicts = (await statusOf('both'))?.conflicts?.join();
  expect(conflicts).toContain(`pod ${tenant}/older says that it has it too`);
  expect(conflicts).toContain(`pod ${namespace}/honest says that it has it too`);
});

it('gets no address that a running pod says it has, by a pod that fixes it', async () => {
  const { applied, claimedOf, eventsOf, namespace, ready, statusOf } = networks;
  await ready('fixed', 92, 4, { names: ['net-fixed', `${tenant}/fixed`], namespaces: [namespace] });
  await applied(saying('victim', tenant, `${tenant}/fixed`, '10.92.0.11'));
  await eventually(() => statusOf('fixed')).toMatchObject({ foreign: 1 });
  const entry = { name: 'net-fixed', interface: 'net0', ipAddress: '10.92.0.11' };
  const fixing = { [NFN_NETWORK_ANNOTATION]: JSON.stringify({ interface: [entry] }) };
  await applied(waiting('thief', fixing));
  await eventually(() => eventsOf('thief')).toContain(`pod ${tenant}/victim has it`);
  expect(await claimedOf('fixed')).toEqual([]);
});

it('keeps no network from being adopted by an owner that its pod names', async () => {
  const { claimedOf, fixture, ready } = networks;
  const template = {
    metadata: { labels: { app: 'x' }, annotations: { [KEEP_ADDRESSES_ANNOTATION]: 'true' } },
    spec: podSpec(),
  };
  const spec = { replicas: 0, serviceName: 'x', selector: { matchLabels: { app: 'x' } }, template };
  const apps = { apiVersion: 'apps/v1', kind: 'StatefulSet' };
  await madeByTenant({ ...apps, metadata: { name: 'x', namespace: tenant }, spec });
  const of = ['get', 'statefulset', 'x', '-n', tenant, '-o', 'jsonpath={.metadata.uid}'];
  const { stdout: uid } = await fixture.kubectl(...of);
  const pod = saying('scaled', tenant, `${tenant}/scaled`, '10.96.0.10');
  await madeByTenant({
    ...pod,
    metadata: {
      ...pod.metadata,
      annotations: { ...pod.metadata.annotations, [KEEP_ADDRESSES_ANNOTATION]: 'true' },
      ownerReferences: [{ ...apps, name: 'x/scale', uid, controller: true }],
    },
  });
  await ready('scaled', 96, 4, { names: [`${tenant}/scaled`], namespaces: [tenant] });
  expect(await claimedOf('scaled')).toEqual([expect.stringContaining('scaled 10.96.0.10')]);
});

it('has no claim under a name that an interface cannot have', async () => {
  const { applied, claimedOf, eventsOf, namespace, ready } = networks;
  await ready('named', 97, 4, { names: ['net-named', `${namespace}/named`] });
  const half = String.raw`{"interface":[{"name":"net-named","interface":"\ud800"}]}`;
  await applied(waiting('half', { [NFN_NETWORK_ANNOTATION]: half }));
  await applied(waiting('long', { [NETWORKS_ANNOTATION]: `named@${'a'.repeat(65)}` }));
  for (const name of ['half', 'long'])
    await eventually(() => eventsOf(name)).toContain('AnnotationInvalid');
  expect(await claimedOf('named')).toEqual([]);
});

it('has no more than its share by pods that it deletes when they have their addresses', async () => {
  const { applied, claimedOf, fixture, namespace, portsOf, ready } = networks;
  await ready('share', 98, 4, { perNamespace: 2 });
  const first = ['first-0', 'first-1'];
  for (const name of first) await applied(waiting(name, nodus('net-share')));
  await eventually(() => claimedOf('share')).toHaveLength(2);
  const deletedAt = Date.now();
  await fixture.kubectl('delete', 'pod', ...first, '-n', namespace, ...FORCED);
  await applied(waiting('next', nodus('net-share')));
  await eventually(() => claimedOf('share')).toEqual([expect.stringContaining('next ')]);
  const claim = (await portsOf('share')).find(({ spec }) => spec.claim.pod === 'next');
  // The API server cuts off the fraction of a second.
  const waitedMs = Date.parse(claim?.metadata.creationTimestamp ?? '') - deletedAt;
  expect(waitedMs).toBeGreaterThanOrEqual(REST_MS - 1_000);
});

it('has no ports made by a pool', async () => {
  const pool = {
    apiVersion: 'network.sdewan.akraino.org/v1alpha1',
    kind: 'NetworkPortPool',
    metadata: { name: 'greedy' },
    spec: { network: NETWORK, min: 1_000, max: 1_000 },
  };
  const args = ['--kubeconfig', asTenant, 'create', '-f', '-'];
  const stdin = JSON.stringify(pool);
  const made = await networks.fixture.cluster.kubectl(args, { stdin, allowFailure: true });
  expect(made.stderr).toContain('cannot create resource "networkportpools"');
});
