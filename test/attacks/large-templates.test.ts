/**
 * A tenant with `create` on CNFDeployments, where ClusterRole sdewan-fleet is not bound, writes
 * templates as large as etcd takes them: the API server would answer the coordinator before it has
 * read what it sends. What is beyond the bound is refused, also while no coordinator runs; of what
 * is within it nothing is sent.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { NewObject } from '#shared/kube/client.ts';
import {
  cnfDeploymentResource,
  MAX_TEMPLATE_BYTES,
} from '#shared/resources/other-kinds/cnf-deployment.ts';
import { firewallZone } from '#shared/resources/rules/firewall-zone.ts';
import { createFixture, type Fixture } from '../integration/admission/fixture.ts';
import { eventually } from '../integration/support/eventually.ts';
import { zoneWith } from './largest.ts';

const MANY = 12;
/** A namespace of others is served within. */
const SERVED_MS = 5_000;

let fixture: Fixture;
let namespace: string;
beforeAll(async () => {
  fixture = await createFixture();
  namespace = await fixture.createNamespace();
});
afterAll(() => fixture.close());

const rolled = (name: string, bytes: number): NewObject => {
  const labels = { sdewanPurpose: name };
  return {
    apiVersion: 'fleet.sdewan.akraino.org/v1alpha1',
    kind: 'CNFDeployment',
    metadata: { name, namespace },
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels, annotations: { large: 'x'.repeat(bytes) } },
        spec: { containers: [{ name: 'openwrt', image: 'none' }] },
      },
    },
  };
};
const create = (name: string, bytes: number): Promise<unknown> =>
  fixture.client.create(cnfDeploymentResource, rolled(name, bytes));
const degradedOf = async (name: string) => {
  const { status } = await fixture.client.get(cnfDeploymentResource, { namespace, name });
  return status?.conditions?.find(({ type }) => type === 'Degraded');
};

it('refuses one beyond the bound, and says how large it may be', async () => {
  await expect(create('large', 900_000)).rejects.toThrow(
    `bytes as JSON, and at most ${MAX_TEMPLATE_BYTES} are rolled out`,
  );
});

it('does not send the largest ones, and serves another namespace meanwhile', async () => {
  const others = await fixture.createNamespace();
  const names = Array.from({ length: MANY }, (_, at) => `cnf-${at}`);
  for (const name of names) await create(name, MAX_TEMPLATE_BYTES - 1_000);
  const begun = performance.now();
  await fixture.client.create(firewallZone, zoneWith(0)(others, 'lan'));
  const statusOf = async (): Promise<unknown> =>
    (await fixture.client.get(firewallZone, { namespace: others, name: 'lan' })).status;
  await eventually(statusOf).toBeDefined();
  expect(performance.now() - begun).toBeLessThan(SERVED_MS);
  for (const name of names)
    await eventually(() => degradedOf(name)).toMatchObject({
      status: 'True',
      reason: 'Forbidden',
      message: expect.stringContaining('it may not create deployments.apps there'),
    });
});

it('takes no template while no coordinator runs, and all else of one that is there can be changed', async () => {
  await fixture.stopCoordinator();
  await expect(create('later', 900_000)).rejects.toThrow(/failed calling webhook "cnf-deployments/);
  const key = { namespace, name: 'cnf-0' };
  const change = (body: object): Promise<unknown> =>
    fixture.client.patch(cnfDeploymentResource, key, { patch: { type: 'merge', body } });
  await change({ spec: { paused: true }, metadata: { annotations: { a: 'b' } } });
  const template = { metadata: { annotations: { large: 'x'.repeat(900_000) } } };
  await expect(change({ spec: { template } })).rejects.toThrow(/failed calling webhook/);
});
