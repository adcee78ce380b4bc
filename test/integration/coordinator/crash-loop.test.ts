/**
 * A coordinator that is killed again and again, before the time is up after which one of them alone
 * would find silent agents.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Reflector } from '#shared/kube/informer/reflector.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { ruleStatusSchema } from '#shared/protocol/status.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { createAgent, type SimulatedAgent } from './agent.ts';
import { createAutoAgent, type AutoAgent } from './auto-agent.ts';
import { eventually, pause } from '../support/eventually.ts';
import { createRunningPod } from './pods.ts';
import { createRule, firewallRules, statusOf } from './rules.ts';
import { createFixture, type Fixture } from './fixture.ts';

/** From the report of the agent that lives; the Lease is renewed in it. */
const LIFE_MS = 3_000;
/**
 * Two that end after 2 s, at least, and what each of them counts for as long as its end is not
 * known, are the whole time.
 */
const LIVES = 6;
/** Longer than a life, of which its start is the most where the machine is busy. */
let silentAfterMs = 14_000;

let fixture: Fixture;
let dead: SimulatedAgent;
let living: AutoAgent;
/** Whether the rule of the agent that lives was in sync, as the API server told of it. */
const said: (boolean | undefined)[] = [];
const watching = new AbortController();

beforeAll(async () => {
  const probe = await createFixture();
  const startedAt = performance.now();
  await probe.killCoordinator();
  await probe.startCoordinator();
  silentAfterMs = Math.max(silentAfterMs, LIFE_MS + 4 * (performance.now() - startedAt));
  await probe.close();
  fixture = await createFixture({ silentAfterMs: Math.round(silentAfterMs) });
  const [one, other] = await Promise.all([
    createRunningPod(fixture, { name: 'dead-a', purpose: 'dead' }),
    createRunningPod(fixture, { name: 'living-a', purpose: 'living' }),
  ]);
  dead = await createAgent(fixture, one, { purpose: 'dead' });
  living = await createAutoAgent(fixture, other, 'living');
});
afterAll(async () => {
  watching.abort();
  await Promise.all([dead.close(), living.kill()]);
  await fixture.close();
});

const received = async (): Promise<boolean> => {
  const answer = await fetch(`${fixture.coordinator.httpUrl}/metrics`);
  return (await answer.text()).includes('reports_total{result="news"}');
};

it('finds an agent that is dead, and never one that lives', async () => {
  const rule = await createRule(fixture, { name: 'dead', purpose: 'dead' });
  await createRule(fixture, { name: 'living', purpose: 'living' });
  await dead.says([rule, 'Applied']);
  await eventually(() => statusOf(fixture, 'dead')).toMatchObject({ inSync: true });
  await eventually(() => statusOf(fixture, 'living')).toMatchObject({ inSync: true });
  const watch = new Reflector<RuleObject>({
    client: fixture.client,
    resource: firewallRules,
    selection: { namespace: fixture.namespace },
    log: silentLogger,
    onEvent: ({ object: { metadata, status } }) => {
      if (metadata.name === 'living') said.push(ruleStatusSchema.parse(status).inSync);
    },
  });
  void watch.run(watching.signal);
  const longest: number[] = [];
  const lives = Math.ceil((LIVES * silentAfterMs) / 14_000);
  for (let life = 0; life < lives && (await statusOf(fixture, 'dead'))?.inSync; life += 1) {
    await fixture.killCoordinator();
    await fixture.startCoordinator();
    const startedAt = performance.now();
    await eventually(received).toBe(true);
    await pause(LIFE_MS);
    longest.push(performance.now() - startedAt);
  }
  expect(await statusOf(fixture, 'dead')).toMatchObject({
    inSync: false,
    pods: { summary: '0/1' },
  });
  // None of them has found it out alone.
  expect(Math.max(...longest)).toBeLessThan(silentAfterMs);
  expect(longest.length).toBeGreaterThan(1);
  expect(new Set(said)).toEqual(new Set([true]));
});
