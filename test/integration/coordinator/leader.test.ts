/**
 * Two coordinators at a time: one writes, whatever happens to it; the other answers, and takes
 * over.
 */
import * as z from 'zod';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Reflector } from '#shared/kube/informer/reflector.ts';
import { objectSchema, type ResourceType, type RuleObject } from '#shared/kube/objects.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { readScrape, valueIn } from '../../openwrt/checks/prometheus.ts';
import { createAgent, type SimulatedAgent } from './agent.ts';
import { createRunningPod, setPodState } from './pods.ts';
import { createRule, eventsOn, firewallRules } from './rules.ts';
import { eventually, pause } from '../support/eventually.ts';
import type { CoordinatorProcess } from '../support/process.ts';
import { createFixture, type Fixture } from './fixture.ts';

const PURPOSE = 'cnf-1';
const RULES = 10;
const WINDOW_MS = 5_000;

let fixture: Fixture;
let coordinators: [CoordinatorProcess, CoordinatorProcess];
let agent: SimulatedAgent;
let rules: RuleObject[];
/** All rules, as the API server has them. */
let watch: Reflector<z.infer<typeof firewallRules.schema>>;
/** Versions of the rules that the watch has shown. */
let versions = 0;
const watching = new AbortController();

beforeAll(async () => {
  fixture = await createFixture({ silentAfterMs: 60_000 });
  const first = fixture.coordinator;
  await fixture.startCoordinator({ POD_NAME: 'coordinator-b' });
  coordinators = [first, fixture.coordinator];
  const pod = await createRunningPod(fixture, { name: 'cnf-1-a', purpose: PURPOSE });
  agent = await createAgent(fixture, pod, { purpose: PURPOSE });
  const names = Array.from({ length: RULES }, (_, index) => `rule-${index}`);
  rules = await Promise.all(names.map((name) => createRule(fixture, { name, purpose: PURPOSE })));
  watch = new Reflector({
    client: fixture.client,
    resource: firewallRules,
    selection: { namespace: fixture.namespace },
    log: silentLogger,
    onEvent: () => {
      versions += 1;
    },
  });
  void watch.run(watching.signal);
});
afterAll(async () => {
  watching.abort();
  await agent.close();
  await Promise.all(coordinators.map((each) => each.stop('SIGKILL')));
  await fixture.close();
});

const read = async (
  { httpUrl }: CoordinatorProcess,
  name: string,
  labels = {},
): Promise<number> => {
  const answer = await fetch(`${httpUrl}/metrics`);
  return valueIn(readScrape(await answer.text()), `sdewan_coordinator_${name}`, labels) ?? 0;
};
const leads = async (one: CoordinatorProcess) => (await read(one, 'leading')) === 1;
const writesOf = (one: CoordinatorProcess) =>
  read(one, 'status_writes_total', { result: 'written' });

const roles = async () => {
  const [a, b] = coordinators;
  await eventually(async () => Number(await leads(a)) + Number(await leads(b))).toBe(1);
  return (await leads(a)) ? { leader: a, other: b } : { leader: b, other: a };
};

const sayTo = async (one: CoordinatorProcess): Promise<void> => {
  fixture.coordinator = one;
  await agent.says(...rules.map((rule) => [rule, 'Applied'] as const));
};
const leaseSchema = objectSchema.extend({
  spec: z.object({ holderIdentity: z.string().default('') }),
});
const leases: ResourceType<z.infer<typeof leaseSchema>> = {
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  kind: 'Lease',
  schema: leaseSchema,
};
const holder = async (): Promise<string> => {
  const at = { namespace: fixture.home, name: 'sdewan-coordinator' };
  return (await fixture.client.get(leases, at)).spec.holderIdentity;
};
const inSync = (): number => watch.store.list().filter(({ status }) => status?.inSync).length;

describe('of two coordinators', () => {
  it('have one that writes, also when each has received other reports', async () => {
    const { leader, other } = await roles();
    await sayTo(leader);
    await eventually(inSync).toBe(RULES);
    const before = { versions, other: await writesOf(other) };
    await pause(WINDOW_MS);
    expect(versions).toBe(before.versions);
    expect(before.other).toBe(0);
  });

  it('serve both, and only the leader shows the metrics of rules and pods', async () => {
    const { leader, other } = await roles();
    for (const one of coordinators) expect((await fetch(`${one.httpUrl}/readyz`)).status).toBe(200);
    const state = { state: 'live' };
    expect(await read(leader, 'pods', state)).toBe(1);
    expect(await read(other, 'pods', state)).toBe(0);
  });

  it('have one that takes over from one that was stopped, and that one writes nothing when it goes on', async () => {
    const { leader, other } = await roles();
    await sayTo(other);
    const before = await writesOf(leader);
    leader.send('SIGSTOP');
    await setPodState(fixture, agent.pod, { ready: false });
    await eventually(() => leads(other)).toBe(true);
    await eventually(inSync).toBe(0);
    const written = versions;
    leader.send('SIGCONT');
    await eventually(() => leads(leader)).toBe(false);
    await setPodState(fixture, agent.pod, { ready: true });
    await eventually(inSync).toBe(RULES);
    await pause(WINDOW_MS);
    expect(versions - written).toBe(RULES);
    expect(await writesOf(leader)).toBe(before);
  });

  it('have one that takes over at once from one that stops, and that one has written its last Events', async () => {
    const { leader, other } = await roles();
    const latest = await createRule(fixture, { name: 'latest', purpose: PURPOSE });
    rules.push(latest);
    await sayTo(other);
    await sayTo(leader);
    await eventually(inSync).toBe(rules.length);
    const before = await holder();
    await leader.stop('SIGTERM');
    // Not held until it ends by itself, ten seconds later.
    expect(await holder()).not.toBe(before);
    await eventually(() => leads(other)).toBe(true);
    expect(await eventsOn(fixture, 'latest')).toEqual([
      'Normal InSync generation 1 is on all pods (1)',
    ]);
    await pause(WINDOW_MS);
    expect(inSync()).toBe(rules.length);
  });
});
