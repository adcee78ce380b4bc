import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RuleObject } from '#shared/kube/objects.ts';
import { Reflector } from '#shared/kube/reflector.ts';
import { AGENTS_FINALIZER } from '#shared/names.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { randomOfTest } from '../../run/random.ts';
import { createAutoAgent, type AutoAgent } from './auto-agent.ts';
import { createRunningPod } from './pods.ts';
import { createRule, deleteRule, firewallRules } from './rules.ts';
import { eventually, pause } from './eventually.ts';
import { createWorld, type World } from './world.ts';

const RULES = 100;
const PURPOSE = 'storm';

let world: World;
let agents: AutoAgent[];
/** Uids of rules that bore our finalizer; without webhook, one made and deleted while the coordinator is down never does. */
const held = new Set<string>();
/** Of these, the names of those that went while an OpenWRT still had them. */
const goneEarly: string[] = [];
let goneInTime = 0;
const watching = new AbortController();

beforeAll(async () => {
  world = await createWorld({ silentAfterMs: 5_000 });
  const names = ['storm-a', 'storm-b', 'storm-c'];
  agents = await Promise.all(
    names.map(async (name) =>
      createAutoAgent(world, await createRunningPod(world, { name, purpose: PURPOSE }), PURPOSE),
    ),
  );
  const judge = new Reflector<RuleObject>({
    client: world.client,
    resource: firewallRules,
    selection: { namespace: world.namespace },
    log: silentLogger,
    onEvent: ({ type, object: { metadata } }) => {
      if (metadata.finalizers?.includes(AGENTS_FINALIZER)) held.add(metadata.uid);
      if (type !== 'deleted' || !held.has(metadata.uid)) return;
      if (agents.some(({ holds }) => holds.has(metadata.uid))) goneEarly.push(metadata.name);
      else goneInTime += 1;
    },
  });
  void judge.run(watching.signal);
});
afterAll(async () => {
  watching.abort();
  await Promise.all(agents.map((agent) => agent.kill()));
  await world.close();
});

const namesOf = (prefix: string): string[] =>
  Array.from({ length: RULES / 2 }, (_, index) => `${prefix}-${index}`);

const rulesNow = async () => {
  const { items } = await world.client.list(firewallRules, {
    namespace: world.namespace,
  });
  return items;
};

const outOfSync = async () =>
  (await rulesNow())
    .filter(({ status }) => !status?.inSync || status.pods?.summary !== '3/3')
    .map(({ metadata, status }) => `${metadata.name}: ${status?.message}`);

it('after kills of the coordinator and of agents in the middle of 100 creates and deletes everything converges, and no rule goes early', async () => {
  for (const name of namesOf('old')) await createRule(world, { name, purpose: PURPOSE });
  await eventually(outOfSync).toEqual([]);

  const random = randomOfTest();
  const chaos = async (): Promise<void> => {
    for (let round = 0; round < 3; round += 1) {
      await pause(random.int(1_000));
      await world.killCoordinator();
      const agent = agents[round % agents.length];
      await agent?.kill();
      await pause(200);
      await world.startCoordinator();
      await agent?.start();
    }
  };
  const changes = async (): Promise<void> => {
    for (const [index, name] of namesOf('old').entries()) {
      await deleteRule(world, name);
      await createRule(world, { name: `new-${index}`, purpose: PURPOSE });
      await pause(50);
    }
  };
  await Promise.all([chaos(), changes()]);

  await eventually(async () =>
    (await rulesNow()).map(({ metadata }) => metadata.name).sort(),
  ).toEqual(namesOf('new').sort());
  await eventually(outOfSync).toEqual([]);
  expect(goneEarly).toEqual([]);
  expect(goneInTime).toBe(RULES / 2);
  const expected = new Set((await rulesNow()).map(({ metadata }) => metadata.uid));
  for (const { holds } of agents) expect(holds).toEqual(expected);
}, 120_000);
