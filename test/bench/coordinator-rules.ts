/**
 * A coordinator with many rules on the real API server: `node test/bench/coordinator-rules.ts [--rules 5000] [--pods 10]`.
 * How long until all are held and in sync after the agents have reported, what a restart costs, and how much memory it takes.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startCluster } from 'kind-test-harness';
import { request } from 'undici';
import { createAgent, type SimulatedAgent } from '../integration/coordinator/agent.ts';
import { createRunningPod } from '../integration/coordinator/pods.ts';
import { createRule, firewallRules } from '../integration/coordinator/rules.ts';
import { createWorld } from '../integration/coordinator/world.ts';
import { readScrape, valueIn } from '../judge/prometheus.ts';

const { values } = parseArgs({
  options: {
    rules: { type: 'string', default: '5000' },
    pods: { type: 'string', default: '10' },
  },
});
const RULES = Number(values.rules);
const PODS = Number(values.pods);
/** Rules that are made at a time. */
const BATCH = 50;
const POLL_MS = 1_000;

const cluster = await startCluster();
Object.assign(process.env, cluster.env);
const world = await createWorld();

const seconds = (since: number): string => `${((performance.now() - since) / 1_000).toFixed(1)} s`;

const metric = async (name: string, labels: Record<string, string> = {}): Promise<number> => {
  const { body } = await request(`${world.coordinator.httpUrl}/metrics`);
  return valueIn(readScrape(await body.text()), name, labels) ?? 0;
};
const until = async (reached: () => Promise<boolean>): Promise<void> => {
  while (!(await reached())) await sleep(POLL_MS);
};
const inSync = (): Promise<number> =>
  metric('sdewan_coordinator_rules', { kind: 'FirewallRule', state: 'in_sync' });
const written = (): Promise<number> =>
  metric('sdewan_coordinator_status_writes_total', { result: 'written' });

const say = async (what: string, since: number): Promise<void> => {
  const memory = Math.round((await metric('process_resident_memory_bytes')) / 1e6);
  const cpu = (await metric('process_cpu_seconds_total')).toFixed(1);
  const writes = await written();
  console.log(
    `${what}: ${seconds(since)}, ${writes} status writes, CPU ${cpu} s, RSS ${memory} MB`,
  );
};

const agents: SimulatedAgent[] = [];
for (let index = 0; index < PODS; index += 1) {
  const pod = await createRunningPod(world, { name: `cnf-1-${index}` });
  agents.push(await createAgent(world, pod));
}

const made = performance.now();
for (let index = 0; index < RULES; index += BATCH)
  await Promise.all(
    Array.from({ length: Math.min(BATCH, RULES - index) }, (_, offset) =>
      createRule(world, { name: `rule-${index + offset}` }),
    ),
  );
console.log(`${RULES} rules made in ${seconds(made)}`);
await until(async () => (await written()) >= RULES);
await say('held, and a first status', made);

const { items } = await world.client.list(firewallRules, {
  namespace: world.namespace,
});
const reported = performance.now();
await Promise.all(
  agents.map((agent) => agent.says(...items.map((rule) => [rule, 'Applied'] as const))),
);
console.log(`${PODS} reports taken in ${seconds(reported)}`);
await until(async () => (await inSync()) === RULES);
await say('in sync after the reports', reported);

const beats = performance.now();
for (let round = 0; round < 100; round += 1)
  await Promise.all(agents.map((agent) => agent.beats()));
await say(`${100 * PODS} heartbeats`, beats);

await world.killCoordinator();
const restarted = performance.now();
await world.startCoordinator();
await until(async () => (await inSync()) === RULES);
await Promise.all(
  agents.map((agent) => agent.says(...items.map((rule) => [rule, 'Applied'] as const))),
);
await sleep(2_000);
await say('restarted, and all reported again', restarted);

await Promise.all(agents.map((agent) => agent.close()));
await world.close();
await cluster.stop();
