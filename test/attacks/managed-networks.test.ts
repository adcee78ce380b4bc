/**
 * A tenant uses a managed network up for all others, or has an address of their pods for its own,
 * by annotations of its pods: which addresses they have, or which one they fix.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  NETWORK_STATUS_ANNOTATION,
  NETWORKS_ANNOTATION,
  NFN_NETWORK_ANNOTATION,
} from '#shared/names.ts';
import {
  createManagedNetworks,
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
