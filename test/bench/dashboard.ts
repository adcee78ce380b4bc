/**
 * The dashboard beside many rules: `node test/bench/dashboard.ts [--rules 10000] [--pods 10] [--viewers 10]`, with Chromium.
 * How long a page takes in a browser, how soon a change is seen there, and what ten viewers cost the coordinator in memory.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startCluster } from 'kind-test-harness';
import { request } from 'undici';
import * as z from 'zod';
import { createAgent, type SimulatedAgent } from '../integration/coordinator/agent.ts';
import { createRunningPod } from '../integration/coordinator/pods.ts';
import { createRule, firewallRules } from '../integration/coordinator/rules.ts';
import { createWorld } from '../integration/coordinator/world.ts';
import { readScrape, valueIn } from '../judge/prometheus.ts';
import { startChromium } from '../people/browser/chromium.ts';
import { personAt } from '../people/browser/person.ts';
import { account, dashboardGrants } from '../people/browser/scene.ts';

const { values } = parseArgs({
  options: {
    rules: { type: 'string', default: '10000' },
    pods: { type: 'string', default: '10' },
    viewers: { type: 'string', default: '10' },
  },
});
const [RULES, PODS, VIEWERS] = [Number(values.rules), Number(values.pods), Number(values.viewers)];
const BATCH = 50;
const CHANGES = 10;
/** Between two changes, and between two looks at memory. */
const PACE_MS = 2_000;

const cluster = await startCluster();
Object.assign(process.env, cluster.env);
const world = await createWorld({
  grants: await dashboardGrants(cluster),
  silentAfterMs: 3_600_000,
  env: { SDEWAN_DASHBOARD_URL: 'http://127.0.0.1:0' },
});
const url = world.coordinator.dashboardUrl ?? '';

const metric = async (name: string, labels: Record<string, string> = {}): Promise<number> => {
  const { body } = await request(`${world.coordinator.httpUrl}/metrics`);
  return valueIn(readScrape(await body.text()), name, labels) ?? 0;
};
const memory = async (): Promise<number> => (await metric('process_resident_memory_bytes')) / 1e6;
const inSync = (): Promise<number> =>
  metric('sdewan_coordinator_rules', { kind: 'FirewallRule', state: 'in_sync' });

const agents: SimulatedAgent[] = [];
for (let index = 0; index < PODS; index += 1) {
  const pod = await createRunningPod(world, { name: `cnf-1-${index}` });
  agents.push(await createAgent(world, pod));
}
for (let index = 0; index < RULES; index += BATCH)
  await Promise.all(
    Array.from({ length: Math.min(BATCH, RULES - index) }, (_, offset) =>
      createRule(world, { name: `rule-${index + offset}` }),
    ),
  );
const { items } = await world.client.list(firewallRules, { namespace: world.namespace });
const reported = items.map((rule) => [rule, 'Applied'] as const);
for (const agent of agents) await agent.says(...reported);
while ((await inSync()) < RULES) await sleep(1_000);
console.log(`${RULES} rules on ${PODS} pods are in sync`);

/** The highest while `work` goes on. */
const peakWhile = async (work: Promise<void>): Promise<number> => {
  let highest = 0;
  const ending = new AbortController();
  const done = work.finally(() => ending.abort());
  while (!ending.signal.aborted) {
    highest = Math.max(highest, await memory());
    await sleep(250);
  }
  await done;
  return highest;
};
/** The first rule fails on the first pod, and is applied again. */
const change = async (round: number): Promise<void> => {
  const [first, ...others] = items;
  const [agent] = agents;
  if (!first || !agent) return;
  const state = round % 2 === 0 ? 'Failed' : 'Applied';
  await agent.says(
    [first, state, { message: `round ${round}` }],
    ...others.map((one) => [one, 'Applied'] as const),
  );
};
const changes = async (): Promise<void> => {
  for (let round = 0; round < CHANGES; round += 1) {
    await change(round);
    await sleep(PACE_MS);
  }
};
const alone = await peakWhile(changes());

const token = await account(cluster, world.namespace, { name: 'viewer', everywhere: true });
const codeSchema = z.object({ code: z.string() });
const codeFor = async (): Promise<string> => {
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(`${url}/codes`, { method: 'POST', headers });
  return codeSchema.parse(await answer.json()).code;
};
const page = `/cnf/${world.namespace}/cnf-1`;

const chromium = await startChromium();
const person = await personAt(chromium.browser, url);
await person.go(`/enter?code=${await codeFor()}`);
const loadMs = async (path: string): Promise<number> => {
  const began = performance.now();
  await person.go(path);
  return performance.now() - began;
};
const ms = (value: number): string => `${Math.round(value)} ms`;
console.log(`first look at all CNFs: ${ms(await loadMs('/'))}`);
console.log(`first look at the CNF: ${ms(await loadMs(page))}`);
console.log(`the second: ${ms(await loadMs(page))}`);
console.log(`a search: ${ms(await loadMs(`${page}?q=rule-777`))}`);

await person.go(page);
const took: number[] = [];
for (let round = 0; round < CHANGES; round += 1) {
  const before = await person.text();
  const began = performance.now();
  await change(round);
  while ((await person.text()) === before) await sleep(20);
  took.push(performance.now() - began);
  await sleep(PACE_MS);
}
const ordered = took.toSorted((a, b) => a - b);
console.log(
  `a change is seen after ${ms(ordered[CHANGES >> 1] ?? 0)}, at most ${ms(ordered.at(-1) ?? 0)}`,
);
await chromium.close();

/** As the script of a page does: looks again at each mark. */
const left = new AbortController();
const view = async (): Promise<void> => {
  const entered = await fetch(`${url}/enter?code=${await codeFor()}`, { redirect: 'manual' });
  const cookie = entered.headers.get('set-cookie')?.split(';')[0] ?? '';
  const options = { headers: { cookie }, signal: left.signal };
  const stream = await fetch(`${url}/live?of=${encodeURIComponent(page)}`, options);
  for await (const chunk of stream.body ?? [])
    if (Buffer.from(chunk).includes('event: mark'))
      await (await fetch(`${url}${page}`, options)).text();
};
const viewers = Array.from({ length: VIEWERS }, () => view().catch(() => undefined));
await sleep(PACE_MS);
const watched = await peakWhile(changes());
left.abort();
await Promise.all(viewers);
console.log(
  `memory at the same changes: ${alone.toFixed(0)} MB without viewers, ${watched.toFixed(0)} MB with ${VIEWERS}`,
);

for (const agent of agents) await agent.close();
await world.close();
await cluster.stop();
