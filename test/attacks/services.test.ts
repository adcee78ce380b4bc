/** A tenant tries to get ports of a CNF in a namespace that is not its own, by an annotation on its Service. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { firewallDnat } from '#shared/resources/rules/firewall-dnat.ts';
import { resourceV1 } from '#shared/kube/objects.ts';
import { createWorld, eventually, type World } from '../integration/admission/world.ts';

const pods = resourceV1('', 'pods', 'Pod');
const services = resourceV1('', 'services', 'Service');
const CONSENT = 'sdewan.akraino.org/accepts-services-from';

let world: World;
/** Of the CNF, and of the tenant. */
let edge: string;
let shop: string;
beforeAll(async () => {
  world = await createWorld({ SDEWAN_EXPOSE_ZONE: 'wan' });
  edge = await world.createNamespace();
  shop = await world.createNamespace();
  await world.client.create(pods, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'cnf', namespace: edge, labels: { sdewanPurpose: 'cnf-1' } },
    spec: { schedulerName: 'nobody', containers: [{ name: 'openwrt', image: 'none' }] },
  });
  await expose('web', [{ name: 'http', port: 80 }]);
});
afterAll(() => world.close());

const expose = (name: string, ports: object[]): Promise<unknown> =>
  world.client.create(services, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name,
      namespace: shop,
      annotations: { 'sdewan.akraino.org/expose': `${edge}/cnf-1` },
    },
    spec: { ports },
  });

const consent = (to: string | null): Promise<unknown> =>
  world.client.patch(
    pods,
    { namespace: edge, name: 'cnf' },
    { patch: { type: 'merge', body: { metadata: { annotations: { [CONSENT]: to } } } } },
  );

const portsTaken = async (): Promise<unknown[]> => {
  const { items } = await world.client.list(firewallDnat, { namespace: edge });
  return items.map(({ spec }) => spec).map((spec) => Object(spec)['src_dport']);
};

const eventsOf = async (name: string): Promise<string> => {
  const about = ['--field-selector', `involvedObject.name=${name}`];
  return (await world.kubectl('get', 'events', '-n', shop, ...about)).stdout;
};

it('a Service of another namespace gets none, and an Event says why', async () => {
  await eventually(() => eventsOf('web')).toContain(
    `CNF ${edge}/cnf-1 does not accept Services of namespace ${shop}`,
  );
  expect(await portsTaken()).toEqual([]);
});

it('a Service of another namespace gets them as long as the CNF consents, but none that is reserved', async () => {
  await consent(`somewhere, ${shop}`);
  await eventually(portsTaken).toEqual(['80']);
  await expose('ssh', [
    { name: 'ssh', port: 22 },
    { name: 'alt', port: 8022 },
  ]);
  await eventually(portsTaken).toEqual(expect.arrayContaining(['80', '8022']));
  await eventually(() => eventsOf('ssh')).toContain('port 22 tcp: is reserved on CNFs');
  expect(await portsTaken()).not.toContain('22');
  await consent(null);
  await eventually(portsTaken).toEqual([]);
});
