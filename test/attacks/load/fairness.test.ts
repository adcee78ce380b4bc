/**
 * A pod that changes its words about many rules without pause, by a tenant with a token of `serviceaccounts/token`. Before, a rule of another namespace
 * waited for all of them.
 */
import type { KubeObject } from 'kind-test-harness';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { createAgent } from '../../integration/coordinator/agent.ts';
import { createRunningPod } from '../../integration/coordinator/pods.ts';
import { createRule, firewallRules } from '../../integration/coordinator/rules.ts';
import { createWorld, type World } from '../../integration/coordinator/world.ts';
import { makeMany } from '../many.ts';

const RULES = 800;
const ROUNDS = 20;

type Watched = KubeObject & { status?: object };

let world: World;
beforeAll(async () => {
  world = await createWorld({ env: { SDEWAN_WATCH_NAMESPACE: '' } });
});
afterAll(() => world.close());

const tenantIn = async (namespace: string, rules: number) => {
  const home = { ...world, namespace };
  const agent = await createAgent(home, await createRunningPod(home, { name: 'cnf-1-a' }));
  const made = await makeMany(rules, (at) => createRule(home, { name: `rule-${at}` }));
  return { agent, rules: made };
};

it('leaves the rules of another namespace their turn', async () => {
  const other = await world.cluster.createNamespace('other');
  const attacker = await tenantIn(world.namespace, RULES);
  const victim = await tenantIn(other, 2 * ROUNDS);

  /** What one watch sees of statuses, in its order. */
  let ofAttacker = 0;
  const ofVictim = new Map<string, string>();
  const { group, version, plural } = firewallRules;
  await world.cluster.api.watch<Watched>(`/apis/${group}/${version}/${plural}`, {
    onChange: ({ metadata, status }) => {
      if (metadata.namespace === world.namespace) ofAttacker += 1;
      if (metadata.namespace === other) ofVictim.set(metadata.name, JSON.stringify(status ?? {}));
    },
    onDelete: () => undefined,
  });

  const flipping = new AbortController();
  const flip = async (): Promise<void> => {
    for (let round = 0; !flipping.signal.aborted; round += 1)
      await attacker.agent.says(
        ...attacker.rules.map((rule) => [rule, 'Failed', { message: `round ${round}` }] as const),
      );
  };
  /** A rule more of which the agent has something to say; a second word about one would wait for the first one's pace. */
  const waitsFrom = async (first: number): Promise<{ ms: number; before: number }[]> => {
    const waits = [];
    for (let at = first; at < first + ROUNDS; at += 1) {
      const said = victim.rules.slice(0, at + 1);
      const startedAt = performance.now();
      const seen = ofAttacker;
      await victim.agent.says(
        ...said.map(
          (rule) => [rule, 'Failed', { message: `said of ${rule.metadata.name}.` }] as const,
        ),
      );
      const isWritten = (): boolean =>
        ofVictim.get(`rule-${at}`)?.includes(`said of rule-${at}.`) === true;
      await vi.waitUntil(isWritten, { timeout: 300_000, interval: 5 });
      waits.push({ ms: performance.now() - startedAt, before: ofAttacker - seen });
    }
    return waits;
  };
  const median = (numbers: readonly number[]): number =>
    numbers.toSorted((one, another) => one - another)[Math.floor(numbers.length / 2)] ?? 0;
  const told = (waits: readonly { ms: number }[]): string => {
    const ms = waits.map((wait) => wait.ms);
    return `${Math.round(median(ms))} ms, at most ${Math.round(Math.max(...ms))} ms`;
  };

  const alone = await waitsFrom(0);
  const flipped = flip();
  const beside = await waitsFrom(ROUNDS);
  flipping.abort();
  await flipped;
  const before = Math.max(...beside.map((wait) => wait.before));
  console.log(
    `another namespace's status: ${told(alone)}; beside ${RULES} words that change: ${told(beside)}, after ${before} of those at most`,
  );
  expect(ofAttacker).toBeGreaterThan(RULES);
  expect(before).toBeLessThan(RULES / 2);
});
