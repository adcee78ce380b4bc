import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Reflector } from '#shared/kube/informer/reflector.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { AGENTS_FINALIZER } from '#shared/names.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { createAgent, type SimulatedAgent } from './agent.ts';
import { createRunningPod, removePod, setPodState } from './pods.ts';
import { createRule, eventsOn, firewallRules, readRule, statusOf, updateRule } from './rules.ts';
import { eventually, pause } from '../support/eventually.ts';
import { createFixture, type Fixture } from './fixture.ts';

let fixture: Fixture;
const agents: SimulatedAgent[] = [];

const runningAgent = async (name: string, purpose: string): Promise<SimulatedAgent> => {
  const pod = await createRunningPod(fixture, { name, purpose });
  const agent = await createAgent(fixture, pod, { purpose });
  agents.push(agent);
  return agent;
};

beforeAll(async () => {
  fixture = await createFixture();
});
afterAll(async () => {
  await Promise.all(agents.map((agent) => agent.close()));
  await fixture.close();
});

describe('a live pod that is not ready', () => {
  it('takes the rule out of sync, removes appliedVersion and appliedTime, and is named', async () => {
    const [a, b] = [await runningAgent('ready-a', 'ready'), await runningAgent('ready-b', 'ready')];
    const rule = await createRule(fixture, { name: 'ready', purpose: 'ready' });
    await a.says([rule, 'Applied']);
    await eventually(() => statusOf(fixture, 'ready')).toMatchObject({ pods: { summary: '1/2' } });
    expect(await statusOf(fixture, 'ready')).not.toHaveProperty('appliedVersion');
    await b.says([rule, 'Applied']);
    await eventually(() => statusOf(fixture, 'ready')).toMatchObject({ inSync: true });
    const { appliedTime } = (await statusOf(fixture, 'ready')) ?? {};
    expect(appliedTime).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);

    await setPodState(fixture, b.pod, { ready: false });
    await eventually(() => statusOf(fixture, 'ready')).toMatchObject({ inSync: false });
    const status = await statusOf(fixture, 'ready');
    expect(status).toMatchObject({
      outOfSync: [{ pod: 'ready-b', reason: 'PodNotReady' }],
      message: expect.stringContaining('ready-b'),
    });
    for (const field of ['appliedVersion', 'appliedTime', 'appliedGeneration'])
      expect(status).not.toHaveProperty(field);

    await setPodState(fixture, b.pod, { ready: true });
    await eventually(() => statusOf(fixture, 'ready')).toMatchObject({
      inSync: true,
      appliedVersion: '1',
      appliedTime,
    });
  });
});

describe('one change of a rule on ten pods', () => {
  it('is one write of its status, and one more for each two seconds that it takes', async () => {
    const versions = new Set<string>();
    const watching = new AbortController();
    const watch = new Reflector({
      client: fixture.client,
      resource: firewallRules,
      selection: { namespace: fixture.namespace },
      log: silentLogger,
      onEvent: ({ object: { metadata } }) => {
        if (metadata.name === 'ten') versions.add(metadata.resourceVersion);
      },
    });
    const watched = watch.run(watching.signal);
    const pods: SimulatedAgent[] = [];
    for (let index = 0; index < 10; index += 1)
      pods.push(await runningAgent(`ten-${index}`, 'ten'));
    /** Versions that the coordinator has made, beside the one that the test has. */
    const writesOf = async (rule: RuleObject): Promise<number> => {
      versions.clear();
      for (const agent of pods) {
        await agent.says([rule, 'Applied']);
        // Longer than what comes together: each pod would be a write of its own.
        await pause(120);
      }
      await eventually(() => statusOf(fixture, 'ten')).toMatchObject({
        inSync: true,
        observedGeneration: rule.metadata.generation,
      });
      const last = (await readRule(fixture, 'ten'))?.metadata.resourceVersion ?? '';
      await eventually(() => versions.has(last)).toBe(true);
      versions.delete(rule.metadata.resourceVersion);
      return versions.size;
    };
    const finalizers = [AGENTS_FINALIZER];
    for (const change of [
      () => createRule(fixture, { name: 'ten', purpose: 'ten', finalizers }),
      () => updateRule(fixture, 'ten', { spec: { src: 'lan2' } }),
    ]) {
      const changedAt = performance.now();
      const writes = await writesOf(await change());
      expect(writes).toBeGreaterThan(0);
      expect(writes).toBeLessThanOrEqual(1 + (performance.now() - changedAt) / 2_000);
    }
    watching.abort();
    await watched;
  });
});

describe('a status that is true', () => {
  it('does not change with heartbeats, nor when the coordinator is killed and started again', async () => {
    const a = await runningAgent('steady-a', 'steady');
    const rule = await createRule(fixture, { name: 'steady', purpose: 'steady' });
    await a.says([rule, 'Applied']);
    await eventually(() => statusOf(fixture, 'steady')).toMatchObject({ inSync: true });
    const before = await readRule(fixture, 'steady');
    for (let beat = 0; beat < 5; beat += 1) {
      expect(await a.beats()).toMatchObject({ status: 200, body: {} });
      await pause(200);
    }
    const { epoch } = (await a.beats()).body;
    await fixture.killCoordinator();
    await fixture.startCoordinator();
    // The agent does not know yet; the answer says so, and it reports in full.
    await eventually(async () => (await a.beats()).status).toBe(200);
    const answer = await a.beats();
    expect(answer.body.wantsFull).toBe(true);
    expect(answer.body.epoch).not.toBe(epoch);
    await a.says([rule, 'Applied']);
    const after = await readRule(fixture, 'steady');
    expect(after?.status).toEqual(before?.status);
    expect(after?.metadata.resourceVersion).toBe(before?.metadata.resourceVersion);
  });
});

describe('a change of the rule', () => {
  it('is out of sync until each pod has exactly that', async () => {
    const a = await runningAgent('change-a', 'change');
    const rule = await createRule(fixture, { name: 'change', purpose: 'change' });
    await a.says([rule, 'Applied']);
    await eventually(() => statusOf(fixture, 'change')).toMatchObject({ appliedVersion: '1' });
    const updated = await updateRule(fixture, 'change', { spec: { target: 'ACCEPT' } });
    await eventually(() => statusOf(fixture, 'change')).toMatchObject({
      observedGeneration: 2,
      inSync: false,
      outOfSync: [{ reason: 'Outdated' }],
    });
    await a.says([updated, 'Applied']);
    await eventually(() => statusOf(fixture, 'change')).toMatchObject({
      inSync: true,
      appliedVersion: '2',
      appliedGeneration: 2,
    });
    const reordered = await updateRule(fixture, 'change', {
      metadata: { annotations: { 'sdewan.akraino.org/order': '5' } },
    });
    await eventually(() => statusOf(fixture, 'change')).toMatchObject({ inSync: false });
    await a.says([reordered, 'Applied']);
    await eventually(() => statusOf(fixture, 'change')).toMatchObject({ inSync: true });
  });
});

describe('what an agent cannot do', () => {
  it('is shown by the condition, by an Event, and to kubectl wait', async () => {
    const a = await runningAgent('stalled-a', 'stalled');
    const rule = await createRule(fixture, { name: 'stalled', purpose: 'stalled' });
    const message = 'spec.src_ip: not an address';
    await a.says([rule, 'Failed', { reason: 'InvalidSpec', message }]);
    await eventually(() => statusOf(fixture, 'stalled')).toMatchObject({
      state: 'Trying to apply',
      conditions: [
        { type: 'Ready', status: 'False', reason: 'InvalidSpec' },
        { type: 'Stalled', status: 'True', reason: 'InvalidSpec' },
      ],
    });
    await eventually(() => eventsOn(fixture, 'stalled')).toContainEqual(
      expect.stringMatching(/^Warning InvalidSpec .*not an address/),
    );
    await a.says([rule, 'Applied']);
    const selection = ['-n', fixture.namespace, '-l', 'sdewanPurpose=stalled'];
    // kubectl keeps what it knows of the server; asking anew makes it find categories of kinds that
    // are new.
    await fixture.cluster.kubectl(['api-resources', '--cached=false']);
    const wait = ['wait', '--for=condition=Ready', '--timeout=500s', 'sdewan', ...selection];
    await expect(fixture.cluster.kubectl(wait)).resolves.toMatchObject({
      stdout: expect.stringContaining('condition met'),
    });
    await eventually(() => eventsOn(fixture, 'stalled')).toContainEqual(
      expect.stringMatching(/^Normal InSync generation 1 is on all pods/),
    );
  });
});

describe('pods', () => {
  it('make a rule not in sync without the agent, and get an Event', async () => {
    const bare = await createRunningPod(fixture, {
      name: 'bare-a',
      purpose: 'bare',
      agentServes: null,
    });
    await createRule(fixture, { name: 'bare', purpose: 'bare' });
    await eventually(() => statusOf(fixture, 'bare')).toMatchObject({
      inSync: false,
      outOfSync: [{ pod: 'bare-a', reason: 'AgentMissing' }],
    });
    await eventually(() => eventsOn(fixture, 'bare-a')).toContainEqual(
      expect.stringMatching(/^Warning AgentMissing/),
    );
    await removePod(fixture, bare);
    await eventually(() => statusOf(fixture, 'bare')).toMatchObject({ pods: { summary: '0/0' } });
  });
});

it('overwrites a status that others wrote', async () => {
  await createRule(fixture, { name: 'forged', purpose: 'forged' });
  await eventually(() => statusOf(fixture, 'forged')).toMatchObject({ inSync: false });
  const body = { status: { inSync: true, appliedVersion: '1', state: 'In Sync' } };
  await fixture.client.patch(
    firewallRules,
    { namespace: fixture.namespace, name: 'forged' },
    { patch: { type: 'merge', body }, subresource: 'status' },
  );
  await eventually(() => statusOf(fixture, 'forged')).toMatchObject({ inSync: false });
  expect(await statusOf(fixture, 'forged')).not.toHaveProperty('appliedVersion');
});
