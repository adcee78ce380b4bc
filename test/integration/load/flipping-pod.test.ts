/**
 * One pod that stays not ready and flips its waiting reason beside many rules on ten pods: ten
 * minutes of a kubelet's tries, every two seconds, as fast as the API server takes them. Each is a
 * change of the pod that the coordinator sees; what it makes of them is counted.
 * `SDEWAN_FLIP_RULES`: how many rules, 100 without it.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { events } from '#shared/kube/events.ts';
import { objectSchema, type RuleObject } from '#shared/kube/objects.ts';
import { createAgent, type SimulatedAgent } from '../coordinator/agent.ts';
import { pause } from '../support/eventually.ts';
import { createRunningPod, podResource, setPodState } from '../coordinator/pods.ts';
import { createRule, firewallRules, statusOf } from '../coordinator/rules.ts';
import { createFixture, type Fixture } from '../coordinator/fixture.ts';

const PODS = 10;
const RULES = Number(process.env['SDEWAN_FLIP_RULES'] ?? 100);
/** Ten minutes of tries. */
const FLIPS = 300;
const PURPOSE = 'flips';

let fixture: Fixture;
let agents: SimulatedAgent[] = [];

beforeAll(async () => {
  fixture = await createFixture({ silentAfterMs: 600_000 });
});
afterAll(async () => {
  await Promise.all(agents.map((agent) => agent.close()));
  await fixture.close();
});

const waiting = async (agent: SimulatedAgent, reason: string): Promise<void> => {
  const { namespace, name } = agent.pod.metadata;
  const state = { waiting: { reason } };
  const status = {
    conditions: [{ type: 'Ready', status: 'False' }],
    containerStatuses: [
      { name: 'sdewan', image: 'none', imageID: '', ready: false, restartCount: 0, state },
    ],
  };
  const patch = { type: 'merge' as const, body: { status } };
  await fixture.client.patch(podResource, { namespace, name }, { patch, subresource: 'status' });
};

const versions = async (): Promise<Map<string, string>> => {
  const { items } = await fixture.client.list(firewallRules, { namespace: fixture.namespace });
  return new Map(items.map(({ metadata }) => [metadata.name, metadata.resourceVersion]));
};

const eventsThere = async (): Promise<number> => {
  const resource = { ...events, schema: objectSchema };
  return (await fixture.client.list(resource, { namespace: fixture.namespace })).items.length;
};

const statusWrites = async (): Promise<number> => {
  const text = await (await fetch(`${fixture.coordinator.httpUrl}/metrics`)).text();
  const [, count = 'none'] =
    /status_writes_total\{[^}]*result="written"[^}]*\} (\d+)/.exec(text) ?? [];
  return Number(count);
};

it('writes each status twice at most, and says little', async () => {
  const rules: RuleObject[] = [];
  for (let at = 0; at < RULES; at += 1)
    rules.push(await createRule(fixture, { name: `flip-${at}`, purpose: PURPOSE }));
  const pods = await Promise.all(
    Array.from({ length: PODS }, (_, at) =>
      createRunningPod(fixture, { name: `flips-${at}`, purpose: PURPOSE }),
    ),
  );
  agents = await Promise.all(pods.map((pod) => createAgent(fixture, pod, { purpose: PURPOSE })));
  const applied = rules.map((rule) => [rule, 'Applied'] as const);
  for (const agent of agents) await agent.says(...applied);
  const lastName = `flip-${RULES - 1}`;
  await expect
    .poll(() => statusOf(fixture, lastName))
    .toMatchObject({
      inSync: true,
    });
  await pause(3_000);

  const [broken] = agents;
  if (!broken) throw new Error('no agent');
  const before = { writes: await statusWrites(), lines: fixture.coordinator.log.length };
  const known = await eventsThere();
  for (let flip = 0; flip < FLIPS; flip += 1)
    await waiting(broken, flip % 2 === 0 ? 'ErrImagePull' : 'ImagePullBackOff');
  await expect
    .poll(() => statusOf(fixture, lastName))
    .toMatchObject({
      inSync: false,
      message: expect.stringContaining('the pod is not ready'),
    });
  await pause(3_000);
  const still = await versions();
  for (let flip = 0; flip < 10; flip += 1)
    await waiting(broken, flip % 2 === 0 ? 'ErrImagePull' : 'ImagePullBackOff');
  await pause(3_000);

  expect(await versions()).toEqual(still);
  expect((await statusWrites()) - before.writes).toBeLessThanOrEqual(2 * RULES);
  expect(fixture.coordinator.log.length - before.lines).toBeLessThanOrEqual(50);
  const told = (await eventsThere()) - known;
  expect(told).toBeGreaterThan(0);
  expect(told).toBeLessThanOrEqual(20);

  await setPodState(fixture, broken.pod, { ready: true });
  await expect
    .poll(() => statusOf(fixture, lastName))
    .toMatchObject({
      inSync: true,
    });
});
