/**
 * A tenant that may write SdewanApplications tries to learn the addresses of pods of another
 * namespace, and to lead their packets.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sdewanApplication } from '#shared/resources/rules/sdewan-application.ts';
import { eventually } from '../integration/support/eventually.ts';
import { podResource } from '../integration/coordinator/pods.ts';
import { createFixture, type Fixture } from '../integration/coordinator/fixture.ts';

const ADDRESSES = 'sdewan.akraino.org/pod-addresses';
const CONSENT = 'sdewan.akraino.org/accepts-services-from';

let fixture: Fixture;
/** Addresses of the pods that the tenant would like to see. */
let shop: string;

beforeAll(async () => {
  fixture = await createFixture();
  shop = await fixture.cluster.createNamespace('shop');
  await createPod(shop, 'web', '10.244.7.1');
  await createPod(fixture.namespace, 'own', '10.244.7.2');
  await createPod(fixture.namespace, 'ended', '10.244.7.4', { phase: 'Succeeded' });
});
afterAll(() => fixture.close());

const createPod = async (
  namespace: string,
  name: string,
  podIP: string,
  { phase = 'Running', second = [] }: { phase?: string; second?: string[] } = {},
): Promise<void> => {
  await fixture.client.create(podResource, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, labels: { app: 'web' } },
    spec: { schedulerName: 'none', containers: [{ name: 'c', image: 'none' }] },
  });
  const podIPs = [podIP, ...second].map((ip) => ({ ip }));
  const body = { status: { phase, podIP, podIPs } };
  await fixture.client.patch(
    podResource,
    { namespace, name },
    { patch: { type: 'merge', body }, subresource: 'status' },
  );
};

const createApplication = (name: string, appNamespace?: string, app = 'web'): Promise<unknown> =>
  fixture.client.create(sdewanApplication, {
    apiVersion: 'batch.sdewan.akraino.org/v1alpha1',
    kind: 'SdewanApplication',
    metadata: { name, namespace: fixture.namespace, labels: { sdewanPurpose: 'cnf-1' } },
    spec: {
      podSelector: { matchLabels: { app } },
      ...(appNamespace !== undefined && { appNamespace }),
    },
  });

const addressesOf = async (name: string): Promise<string | undefined> => {
  const at = { namespace: fixture.namespace, name };
  return (await fixture.client.get(sdewanApplication, at)).metadata.annotations?.[ADDRESSES];
};

const consent = (value: string): Promise<unknown> =>
  fixture.cluster.kubectl(['annotate', '--overwrite', 'namespace', shop, `${CONSENT}=${value}`]);

it('gets none, and an Event that says why, as long as that namespace does not consent', async () => {
  await createApplication('spy', shop);
  await eventually(() => addressesOf('spy')).toBe('');
  await eventually(async () => {
    const { stdout } = await fixture.cluster.kubectl(['get', 'events', '-n', fixture.namespace]);
    return stdout;
  }).toMatch(/NotAccepted .*spy .*does not let rules of namespace/);
  await consent(`somewhere,${fixture.namespace}-2`);
  await createApplication('home', fixture.namespace);
  await eventually(() => addressesOf('home')).toBe('10.244.7.2');
  expect(await addressesOf('spy')).toBe('');
});

it('gets them with the consent of that namespace, and loses them with it', async () => {
  await consent(`somewhere, ${fixture.namespace}`);
  await eventually(() => addressesOf('spy')).toBe('10.244.7.1');
  await consent('');
  await eventually(() => addressesOf('spy')).toBe('');
});

it('gets those of its own pods that run, sorted, as they come and go', async () => {
  const more = { second: ['fd00:244::a'] };
  await createPod(fixture.namespace, 'more', '10.244.7.10', more);
  await eventually(() => addressesOf('home')).toBe('10.244.7.10,10.244.7.2,fd00:244::a');
  const at = { namespace: fixture.namespace, name: 'more' };
  await fixture.client.delete(podResource, at, { gracePeriodSeconds: 0 });
  await eventually(() => addressesOf('home')).toBe('10.244.7.2');
  const spec = { podSelector: { matchLabels: { app: 'none' } } };
  const patch = { type: 'merge', body: { spec } } as const;
  const home = { ...at, name: 'home' };
  await fixture.client.patch(sdewanApplication, home, { patch });
  await eventually(() => addressesOf('home')).toBe('');
});

/** From the API server: watches of all pods of the cluster by a label of the attack. */
const watchesOfPods = async (): Promise<number> => {
  const { stdout } = await fixture.cluster.kubectl(['get', '--raw', '/metrics']);
  const count =
    /^apiserver_longrunning_requests\{[^}]*resource="pods"[^}]*verb="WATCH"[^}]*\} (\d+)/gm;
  return [...stdout.matchAll(count)].reduce((sum, [, each]) => sum + Number(each), 0);
};

it('opens no more watches than thirty-two, whatever it selects, and what waits comes when there is room', async () => {
  const before = await watchesOfPods();
  expect(before).toBeGreaterThan(0);
  const names = Array.from({ length: 60 }, (_, at) => `many-${at}`);
  for (const name of names) await createApplication(name, undefined, name);
  await createPod(fixture.namespace, 'late', '10.244.7.3');
  await eventually(async () => {
    const all = await Promise.all(names.map(addressesOf));
    return all.filter((addresses) => addresses !== undefined).length;
  }).toBeGreaterThan(20);
  await eventually(async () => {
    const { stdout } = await fixture.cluster.kubectl(['get', 'events', '-n', fixture.namespace]);
    return stdout;
  }).toMatch(/TooManySelections .*select pods in 32 ways already/);
  expect((await watchesOfPods()) - before).toBeLessThanOrEqual(32);
  await createApplication('alike', undefined, 'many-0');
  await eventually(() => addressesOf('alike')).toBe('');
  for (const name of names.slice(0, 59))
    await fixture.client.delete(sdewanApplication, { namespace: fixture.namespace, name });
  await eventually(() => addressesOf('many-59')).toBe('');
});
