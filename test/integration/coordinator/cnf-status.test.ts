/** CNFStatus against the real API server: written from what agents report, deleted with its CNF. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Information } from '#shared/protocol/information.ts';
import {
  cnfStatusResource,
  type CnfStatusObject,
} from '#shared/resources/other-kinds/cnf-status.ts';
import { isNotFound } from '#shared/kube/errors.ts';
import { createAgent } from './agent.ts';
import { createPod, removePod, setPodState } from './pods.ts';
import { createFixture, type Fixture } from './fixture.ts';
import { eventually } from '../support/eventually.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await createFixture();
});
afterAll(() => fixture.close());

const information = (changes: Partial<Information> = {}): Information => ({
  interfaces: [{ name: 'net1', device: 'net1', up: true, addresses: ['10.0.0.1/24'] }],
  routes: [{ target: '0.0.0.0/0', gateway: '10.0.0.254', interface: 'net1' }],
  tunnels: [{ name: 'site1-c1', up: false, state: 'CONNECTING' }],
  wans: [{ interface: 'net1', up: true, status: 'online' }],
  leftOut: 0,
  ...changes,
});

const read = async (name: string): Promise<CnfStatusObject | undefined> => {
  const key = { namespace: fixture.namespace, name };
  return fixture.client.get(cnfStatusResource, key).catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });
};

it('shows the state of the pods of a CNF, follows it, and is deleted with them', async () => {
  const pod = await createPod(fixture, { name: 'cnf-1-a' });
  await setPodState(fixture, pod, {});
  await eventually(async () => (await read('cnf-1'))?.status).toMatchObject({
    pods: { summary: '0/1' },
    message: 'the agent has not reported yet (pod cnf-1-a)',
  });

  const agent = await createAgent(fixture, pod);
  await agent.tells(information());
  await eventually(async () => (await read('cnf-1'))?.status).toMatchObject({
    pods: { summary: '1/1' },
    wans: { summary: '1/1' },
    tunnels: { summary: '0/1' },
    information: [{ name: 'cnf-1-a', status: 'Available', routes: [{ gateway: '10.0.0.254' }] }],
  });
  const { stdout } = await fixture.cluster.kubectl(['get', 'cnfst', '-n', fixture.namespace]);
  expect(stdout).toMatch(
    /^NAME +PURPOSE +PODS +WANS +TUNNELS +CHANGED\s+cnf-1 +cnf-1 +1\/1 +1\/1 +0\/1 /,
  );

  const up = information({ tunnels: [{ name: 'site1-c1', up: true, state: 'ESTABLISHED' }] });
  await agent.tells(up);
  await eventually(async () => (await read('cnf-1'))?.status?.tunnels?.summary).toBe('1/1');
  const settled = (await read('cnf-1'))?.metadata.resourceVersion;
  await agent.tells(up);
  await agent.beats();

  await fixture.killCoordinator();
  await fixture.startCoordinator();
  await agent.tells(up);
  await eventually(async () => (await read('cnf-1'))?.status?.message).toBeUndefined();
  expect(Number((await read('cnf-1'))?.metadata.resourceVersion) >= Number(settled)).toBe(true);

  await removePod(fixture, pod);
  await eventually(() => read('cnf-1')).toBeUndefined();
  await agent.close();
});

it('leaves an object of that name that others made, but for its status', async () => {
  const { group, version, kind } = cnfStatusResource;
  await fixture.client.create(cnfStatusResource, {
    apiVersion: `${group}/${version}`,
    kind,
    metadata: { namespace: fixture.namespace, name: 'cnf-2' },
  });
  const pod = await createPod(fixture, { name: 'cnf-2-a', purpose: 'cnf-2' });
  await eventually(async () => (await read('cnf-2'))?.status?.pods?.summary).toBe('0/1');
  await removePod(fixture, pod);
  // The coordinator comes to its end with it by the time that another CNF's is gone.
  const other = await createPod(fixture, { name: 'cnf-3-a', purpose: 'cnf-3' });
  await eventually(() => read('cnf-3')).toBeDefined();
  await removePod(fixture, other);
  await eventually(() => read('cnf-3')).toBeUndefined();
  expect(await read('cnf-2')).toBeDefined();
});
