/** A tenant that may write SdewanApplications tries to learn the addresses of pods of another namespace, and to lead their packets. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sdewanApplication } from '#shared/resources/rules/sdewan-application.ts';
import { eventually } from '../integration/coordinator/eventually.ts';
import { podResource } from '../integration/coordinator/pods.ts';
import { createWorld, type World } from '../integration/coordinator/world.ts';

const ADDRESSES = 'sdewan.akraino.org/pod-addresses';
const CONSENT = 'sdewan.akraino.org/accepts-services-from';

let world: World;
/** Of the pods that the tenant would like to see. */
let shop: string;

beforeAll(async () => {
  world = await createWorld();
  shop = await world.cluster.createNamespace('shop');
  await createPod(shop, 'web', '10.244.7.1');
  await createPod(world.namespace, 'own', '10.244.7.2');
});
afterAll(() => world.close());

const createPod = async (namespace: string, name: string, podIP: string): Promise<void> => {
  await world.client.create(podResource, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, labels: { app: 'web' } },
    spec: { schedulerName: 'nobody', containers: [{ name: 'c', image: 'none' }] },
  });
  const body = { status: { phase: 'Running', podIP, podIPs: [{ ip: podIP }] } };
  await world.client.patch(
    podResource,
    { namespace, name },
    { patch: { type: 'merge', body }, subresource: 'status' },
  );
};

const createApplication = (name: string, appNamespace: string): Promise<unknown> =>
  world.client.create(sdewanApplication, {
    apiVersion: 'batch.sdewan.akraino.org/v1alpha1',
    kind: 'SdewanApplication',
    metadata: { name, namespace: world.namespace, labels: { sdewanPurpose: 'cnf-1' } },
    spec: { podSelector: { matchLabels: { app: 'web' } }, appNamespace },
  });

const addressesOf = async (name: string): Promise<string | undefined> => {
  const at = { namespace: world.namespace, name };
  return (await world.client.get(sdewanApplication, at)).metadata.annotations?.[ADDRESSES];
};

const consent = (value: string): Promise<unknown> =>
  world.cluster.kubectl(['annotate', '--overwrite', 'namespace', shop, `${CONSENT}=${value}`]);

it('gets none, and an Event that says why, as long as that namespace does not consent', async () => {
  await createApplication('spy', shop);
  await eventually(() => addressesOf('spy')).toBe('');
  await eventually(async () => {
    const { stdout } = await world.cluster.kubectl(['get', 'events', '-n', world.namespace]);
    return stdout;
  }).toMatch(/NotAccepted .*spy .*does not let rules of namespace/);
  await consent(`somewhere,${world.namespace}-2`);
  await createApplication('home', world.namespace);
  await eventually(() => addressesOf('home')).toBe('10.244.7.2');
  expect(await addressesOf('spy')).toBe('');
});

it('gets them with the consent of that namespace, and loses them with it', async () => {
  await consent(`somewhere, ${world.namespace}`);
  await eventually(() => addressesOf('spy')).toBe('10.244.7.1');
  await consent('');
  await eventually(() => addressesOf('spy')).toBe('');
});
