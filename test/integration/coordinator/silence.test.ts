/**
 * Agents that do not report: none of the tests beside it may take so long that its agents count as
 * silent.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createAgent, type SimulatedAgent } from './agent.ts';
import { eventually, pause } from '../support/eventually.ts';
import { createRunningPod } from './pods.ts';
import { createRule, statusOf } from './rules.ts';
import { createFixture, type Fixture } from './fixture.ts';

const SILENT_AFTER_MS = 4_000;
const BEAT_MS = 200;

let fixture: Fixture;
const agents: SimulatedAgent[] = [];

beforeAll(async () => {
  fixture = await createFixture({ silentAfterMs: SILENT_AFTER_MS });
});
afterAll(async () => {
  await Promise.all(agents.map((agent) => agent.close()));
  await fixture.close();
});

/** In sync as long as it reports, which it does until it is told to be silent. */
const reporting = async (name: string) => {
  const pod = await createRunningPod(fixture, { name, purpose: name });
  const agent = await createAgent(fixture, pod, { purpose: name });
  agents.push(agent);
  const rule = await createRule(fixture, { name, purpose: name });
  await agent.says([rule, 'Applied']);
  const silence = new AbortController();
  const report = async (): Promise<void> => {
    while (!silence.signal.aborted) {
      await agent.beats().catch(() => undefined);
      await pause(BEAT_MS);
    }
  };
  const reports = report();
  await eventually(() => statusOf(fixture, name)).toMatchObject({ inSync: true });
  return {
    agent,
    fallSilent: (): Promise<void> => {
      silence.abort();
      return reports;
    },
  };
};

it('takes the rule of an agent that becomes silent out of sync until it reports again', async () => {
  const { agent, fallSilent } = await reporting('silent');
  await fallSilent();
  await eventually(() => statusOf(fixture, 'silent')).toMatchObject({
    inSync: false,
    outOfSync: [{ pod: 'silent', reason: 'AgentSilent' }],
  });
  await eventually(async () => {
    await agent.beats();
    return statusOf(fixture, 'silent');
  }).toMatchObject({ inSync: true });
});

it('notices an agent that does not report after a start of the coordinator when its time is up, not before', async () => {
  const { fallSilent } = await reporting('away');
  await fixture.killCoordinator();
  await fallSilent();
  const startedAt = performance.now();
  await fixture.startCoordinator();
  await eventually(() => statusOf(fixture, 'away')).toMatchObject({ inSync: false });
  expect(performance.now() - startedAt).toBeGreaterThan(SILENT_AFTER_MS);
  expect(await statusOf(fixture, 'away')).toMatchObject({
    outOfSync: [{ pod: 'away', reason: 'AgentStarting' }],
  });
});
