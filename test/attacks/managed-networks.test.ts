/**
 * A tenant whose namespace gets no address of a managed network uses it up for all others, by
 * annotations of its pods: they say that the pods have every address of it.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { NETWORK_STATUS_ANNOTATION, NETWORKS_ANNOTATION } from '#shared/names.ts';
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
  const { world } = networks;
  tenant = await world.createNamespace();
  await world.kubectl('create', 'serviceaccount', 'tenant', '-n', tenant);
  const edit = ['--clusterrole=edit', `--serviceaccount=${tenant}:tenant`];
  await world.kubectl('create', 'rolebinding', 'tenant', '-n', tenant, ...edit);
  asTenant = await world.kubeconfigOf(tenant, 'tenant');
});
afterAll(() => networks.close());

it('keeps no address from the pods of others by what its own pods say', async () => {
  const { world, namespace: victim, applied, claimedOf, ready, statusOf } = networks;
  await ready(NETWORK, 90, 2, { names: [`net-${NETWORK}`, `${tenant}/net`] });
  await eventually(() => statusOf(NETWORK)).toMatchObject({ free: 2 });
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
    spec: podSpec({ nodeName: NODE }),
  };
  const made = await world.cluster.kubectl(['--kubeconfig', asTenant, 'create', '-f', '-'], {
    stdin: JSON.stringify(liar),
    allowFailure: true,
  });
  expect(made).toMatchObject({ code: 0 });
  await eventually(() => statusOf(NETWORK)).toMatchObject({ foreign: 2 });
  await applied({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'waits', namespace: victim, annotations: nodus(`net-${NETWORK}`) },
    spec: podSpec(GATED),
  });
  await eventually(() => claimedOf(NETWORK)).toEqual([`waits ${ADDRESSES[0]} fd00:90::a`]);
});
