import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { KubeObject, RuleObject } from '#shared/kube/objects.ts';
import { AGENTS_FINALIZER } from '#shared/names.ts';
import { createAgent, type SimulatedAgent } from './agent.ts';
import {
  createPod,
  createRunningPod,
  relabelPod,
  removePod,
  setPodState,
  unholdPod,
} from './pods.ts';
import { createRule, deleteRule, readRule, statusOf, updateRule } from './rules.ts';
import { eventually } from '../support/eventually.ts';
import { createWorld, type World } from './world.ts';

const SILENT_AFTER_MS = 4_000;

let world: World;
const agents: SimulatedAgent[] = [];

const agentOf = async (pod: KubeObject, purpose: string): Promise<SimulatedAgent> => {
  const agent = await createAgent(world, pod, { purpose });
  agents.push(agent);
  return agent;
};

const runningAgent = async (name: string, purpose: string): Promise<SimulatedAgent> =>
  agentOf(await createRunningPod(world, { name, purpose }), purpose);

/** A rule of that name and purpose that these agents have. */
const appliedRule = async (name: string, by: readonly SimulatedAgent[]): Promise<RuleObject> => {
  const rule = await createRule(world, { name, purpose: name });
  for (const agent of by) await agent.says([rule, 'Applied']);
  await whileReporting(by, name).toMatchObject({ inSync: true });
  return rule;
};

/** The status of a rule, while these agents do not fall silent, however long it takes. */
const whileReporting = (by: readonly SimulatedAgent[], name: string) =>
  eventually(async () => {
    for (const agent of by) await agent.beats();
    return statusOf(world, name);
  });

const gone = (name: string) => eventually(() => readRule(world, name)).toBeUndefined();

beforeAll(async () => {
  world = await createWorld({ silentAfterMs: SILENT_AFTER_MS });
});
afterAll(async () => {
  await Promise.all(agents.map((agent) => agent.close()));
  await world.close();
});

describe('a rule that is being deleted', () => {
  it('stays while one agent is away, names its pod, and goes when it has confirmed', async () => {
    const a = await runningAgent('away-a', 'away');
    const b = await runningAgent('away-b', 'away');
    const rule = await appliedRule('away', [a, b]);
    await deleteRule(world, 'away');
    await a.says([rule, 'Removed']);
    await eventually(() => statusOf(world, 'away')).toMatchObject({
      state: 'Being delete',
      pods: { summary: '1/2' },
      outOfSync: [{ pod: 'away-b', reason: 'AgentSilent' }],
      conditions: [{ type: 'Ready' }, { type: 'Removed', status: 'False', reason: 'AgentSilent' }],
    });
    await a.beats();
    b.boots();
    await b.says([rule, 'Applied']);
    await whileReporting([b], 'away').toMatchObject({
      outOfSync: [{ pod: 'away-b', reason: expect.not.stringContaining('AgentSilent') }],
    });
    await b.says([rule, 'Removed']);
    await gone('away');
  });

  it('goes at once when no pod is left, and leaves the finalizers of others', async () => {
    const others = 'example.com/other';
    await createRule(world, { name: 'alone', purpose: 'alone', finalizers: [others] });
    await eventually(async () => (await readRule(world, 'alone'))?.metadata.finalizers).toEqual([
      others,
      AGENTS_FINALIZER,
    ]);
    await deleteRule(world, 'alone');
    await eventually(async () => (await readRule(world, 'alone'))?.metadata.finalizers).toEqual([
      others,
    ]);
    await updateRule(world, 'alone', { metadata: { finalizers: null } });
    await gone('alone');
  });
});

describe('what blocks', () => {
  it('includes a terminating pod, until it is gone', async () => {
    const finalizers = ['example.com/slow'];
    const node = 'slow-to-end';
    const pod = await createPod(world, { name: 'going-a', purpose: 'going', finalizers, node });
    await setPodState(world, pod, {});
    const agent = await agentOf(pod, 'going');
    await appliedRule('going', [agent]);
    await removePod(world, pod);
    await eventually(() => statusOf(world, 'going')).toMatchObject({ pods: { summary: '0/0' } });
    await deleteRule(world, 'going');
    await eventually(() => statusOf(world, 'going')).toMatchObject({
      outOfSync: [{ pod: 'going-a' }],
    });
    await unholdPod(world, pod);
    await gone('going');
  });

  it('includes a pod whose agent has restarted, until the new one has confirmed', async () => {
    const a = await runningAgent('boot-a', 'boot');
    const b = await runningAgent('boot-b', 'boot');
    const rule = await appliedRule('boot', [a, b]);
    await deleteRule(world, 'boot');
    await b.says([rule, 'Removed']);
    const startedAt = Date.now() + 1_000;
    await setPodState(world, b.pod, { restarts: 1, startedAt });
    await a.says([rule, 'Removed']);
    await eventually(() => statusOf(world, 'boot')).toMatchObject({
      outOfSync: [{ pod: 'boot-b', reason: 'AgentRestarted' }],
    });
    expect(await readRule(world, 'boot')).toBeDefined();
    b.boots(startedAt);
    await b.says([rule, 'Removed']);
    await gone('boot');
  });

  it('includes a pod that lost its label, although no watch shows it', async () => {
    const a = await runningAgent('label-a', 'label');
    const rule = await appliedRule('label', [a]);
    await relabelPod(world, a.pod, null);
    await eventually(() => statusOf(world, 'label')).toMatchObject({ pods: { summary: '0/0' } });
    await deleteRule(world, 'label');
    await eventually(() => statusOf(world, 'label')).toMatchObject({
      outOfSync: [{ pod: 'label-a' }],
    });
    await a.says([rule, 'Removed']);
    await gone('label');
  });

  it('includes a pod that has had the rule since before the rule lost its label', async () => {
    const a = await runningAgent('lost-a', 'lost');
    const rule = await appliedRule('lost', [a]);
    await updateRule(world, 'lost', { metadata: { labels: { sdewanPurpose: null } } });
    await eventually(() => statusOf(world, 'lost')).toMatchObject({ state: 'Unknown status' });
    await deleteRule(world, 'lost');
    await eventually(() => statusOf(world, 'lost')).toMatchObject({
      outOfSync: [{ pod: 'lost-a' }],
    });
    expect(await readRule(world, 'lost')).toBeDefined();
    // The agent no longer sees the rule, removes it, and does not report it any more.
    await a.says();
    await gone('lost');
    expect(rule.metadata.name).toBe('lost');
  });
});

describe('a coordinator that lost its rights', () => {
  it('removes no finalizer until it can read the pods again', async () => {
    const a = await runningAgent('rights-a', 'rights');
    const rule = await appliedRule('rights', [a]);
    await world.rights.without(async () => {
      await deleteRule(world, 'rights');
      await a.says([rule, 'Removed']);
      await eventually(() => world.coordinator.log).toContainEqual(
        expect.objectContaining({
          rule: `FirewallRule ${world.namespace}/rights`,
          err: expect.objectContaining({ status: 403 }),
        }),
      );
      expect(await readRule(world, 'rights')).toBeDefined();
    });
    await gone('rights');
  });
});

describe('a rule made anew under the same name', () => {
  it('keeps its own finalizer and status, whatever is still reported of the old one', async () => {
    const rounds = async (name: string): Promise<void> => {
      const a = await runningAgent(`${name}-a`, name);
      for (let round = 0; round < 3; round += 1) {
        const old = await createRule(world, { name, purpose: name });
        await a.says([old, 'Applied']);
        // Deleted while the status of this is being written, and removed while that of the deletion
        // is.
        await deleteRule(world, name);
        await a.says([old, 'Removed']);
        await gone(name);
        const fresh = await createRule(world, { name, purpose: name });
        await a.says([old, 'Removed']);
        await eventually(() => readRule(world, name)).toMatchObject({
          metadata: { uid: fresh.metadata.uid, finalizers: [AGENTS_FINALIZER] },
          status: {
            inSync: false,
            state: 'Trying to apply',
            outOfSync: [{ pod: `${name}-a`, reason: 'Applying' }],
          },
        });
        await deleteRule(world, name);
        await a.says([fresh, 'Removed']);
        await gone(name);
      }
    };
    await Promise.all(['twin-1', 'twin-2', 'twin-3', 'twin-4', 'twin-5'].map(rounds));
  });
});
