/**
 * A tenant whose namespace gets no address of a managed network uses it up for all others, by
 * annotations of its pods: they say that the pods have every address of it.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { NETWORK_STATUS_ANNOTATION, NETWORKS_ANNOTATION, PORTS_GATE } from '#shared/names.ts';
import { managedNetworkResource } from '#shared/resources/other-kinds/managed-network.ts';
import { networkPortResource } from '#shared/resources/other-kinds/network-port.ts';
import { createWorld, type World } from '../integration/admission/world.ts';
import { eventually } from '../integration/support/eventually.ts';

const NETWORK = 'attacked';
const NODE = 'attacked-node';
const ADDRESSES = ['10.90.0.10', '10.90.0.11'];

let world: World;
let victim: string;
let tenant: string;
let asTenant: string;
beforeAll(async () => {
  world = await createWorld({ POD_NAME: 'coordinator-a' });
  victim = await world.createNamespace();
  tenant = await world.createNamespace();
  const { systemNamespace, kubectl } = world;
  await kubectl('create', 'serviceaccount', 'tenant', '-n', tenant);
  const edit = ['--clusterrole=edit', `--serviceaccount=${tenant}:tenant`];
  await kubectl('create', 'rolebinding', 'tenant', '-n', tenant, ...edit);
  const role = `--clusterrole=sdewan-network-ports-${systemNamespace}`;
  const account = `--serviceaccount=${systemNamespace}:sdewan-coordinator`;
  await kubectl('create', 'rolebinding', 'ports', '-n', victim, role, account);
  asTenant = await world.kubeconfigOf(tenant, 'tenant');
  const spec = {
    provider: 'static',
    names: ['net-attacked', `${tenant}/net`],
    subnets: [{ cidr: '10.90.0.0/16', ranges: [ADDRESSES.join('-')] }],
    namespaces: [victim],
  };
  await world.apply([
    { apiVersion: 'v1', kind: 'Node', metadata: { name: NODE } },
    {
      apiVersion: 'network.sdewan.akraino.org/v1alpha1',
      kind: 'ManagedNetwork',
      metadata: { name: NETWORK },
      spec,
    },
  ]);
});
afterAll(async () => {
  for (const kind of ['managednetworks', 'networkports', 'node'])
    await world.kubectl('delete', kind, '--all');
  await world.close();
});

const statusOf = async () =>
  (await world.client.get(managedNetworkResource, { name: NETWORK })).status;

it('keeps no address from the pods of others by what its own pods say', async () => {
  await eventually(statusOf).toMatchObject({ free: 2 });
  const liar = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'liar',
      namespace: tenant,
      annotations: {
        [NETWORKS_ANNOTATION]: 'net@net1',
        [NETWORK_STATUS_ANNOTATION]: JSON.stringify(
          ADDRESSES.map((ip) => ({ name: `${tenant}/net`, interface: 'net1', ips: [ip] })),
        ),
      },
    },
    spec: { nodeName: NODE, containers: [{ name: 'c', image: 'none' }] },
  };
  const made = await world.cluster.kubectl(['--kubeconfig', asTenant, 'create', '-f', '-'], {
    stdin: JSON.stringify(liar),
    allowFailure: true,
  });
  expect(made).toMatchObject({ code: 0 });
  await eventually(statusOf).toMatchObject({ foreign: 2 });
  const waits = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'waits',
      namespace: victim,
      annotations: {
        'k8s.plugin.opnfv.org/nfn-network': JSON.stringify({
          interface: [{ name: 'net-attacked', interface: 'net0' }],
        }),
      },
    },
    spec: {
      schedulingGates: [{ name: PORTS_GATE }],
      containers: [{ name: 'c', image: 'none' }],
    },
  };
  expect(await world.apply([waits])).toMatchObject({ code: 0 });
  const claimed = async () =>
    (await world.client.list(networkPortResource)).items
      .filter(({ spec }) => spec.network === NETWORK)
      .map(({ spec }) => `${spec.claim.namespace}/${spec.claim.pod} ${spec.addresses.join()}`);
  await eventually(claimed).toEqual([`${victim}/waits ${ADDRESSES[0]}`]);
});
