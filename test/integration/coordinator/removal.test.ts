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
import { createFixture, type Fixture } from './fixture.ts';

const SILENT_AFTER_MS = 4_000;

let fixture: Fixture;
const agents: SimulatedAgent[] = [];

const agentOf = async (pod: KubeObject, purpose: string): Promise<SimulatedAgent> => {
  const agent = await createAgent(fixture, pod, { purpose });
  agents.push(agent);
  return agent;
};

const runningAgent = async (name: string, purpose: string): Promise<SimulatedAgent> =>
  agentOf(await createRunningPod(fixture, { name, purpose }), purpose);

/** A rule of that name and purpose that these agents have. */
const appliedRule = async (name: string, by: readonly SimulatedAgent[]): Promise<RuleObject> => {
  const rule = await createRule(fixture, { name, purpose: name });
  for (const agent of by) await agent.says([rule, 'Applied']);
  await whileReporting(by, name).toMatchObject({ inSync: true });
  return rule;
};

/** The status of a rule, while these agents do not fall silent, however long it takes. */
const whileReporting = (by: readonly SimulatedAgent[], name: string) =>
  eventually(async () => {
    for (const agent of by) await agent.beats();
    return statusOf(fixture, name);
  });

const gone = (name: string) => eventually(() => readRule(fixture, name)).toBeUndefined();

beforeAll(async () => {
  fixture = await createFixture({ silentAfterMs: SILENT_AFTER_MS });
});
afterAll(async () => {
  await Promise.all(agents.map((agent) => agent.close()));
  await fixture.close();
});

describe('a rule that is being deleted', () => {
  it('stays while one agent is away, names its pod, and goes when it has confirmed', async () => {
    const a = await runningAgent('away-a', 'away');
    const b = await runningAgent('away-b', 'away');
    const rule = await appliedRule('away', [a, b]);
    await deleteRule(fixture, 'away');
    await a.says([rule, 'Removed']);
    await eventually(() => statusOf(fixture, 'away')).toMatchObject({
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
    await createRule(fixture, { name: 'alone', purpose: 'alone', finalizers: [others] });
    await eventually(async () => (await readRule(fixture, 'alone'))?.metadata.finalizers).toEqual([
      others,
      AGENTS_FINALIZER,
    ]);
    await deleteRule(fixture, 'alone');
    await eventually(async () => (await readRule(fixture, 'alone'))?.metadata.finalizers).toEqual([
      others,
    ]);
    await updateRule(fixture, 'alone', { metadata: { finalizers: null } });
    await gone('alone');
  });
});

describe('what blocks', () => {
  it('includes a terminating pod, until it is gone', async () => {
    const finalizers = ['example.com/slow'];
    const node = 'slow-to-end';
    const pod = await createPod(fixture, { name: 'going-a', purpose: 'going', finalizers, node });
    await setPodState(fixture, pod, {});
    const agent = await agentOf(pod, 'going');
    await appliedRule('going', [agent]);
    await removePod(fixture, pod);
    await eventually(() => statusOf(fixture, 'going')).toMatchObject({ pods: { summary: '0/0' } });
    await deleteRule(fixture, 'going');
    await eventually(() => statusOf(fixture, 'going')).toMatchObject({
      outOfSync: [{ pod: 'going-a' }],
    });
    await unholdPod(fixture, pod);
    await gone('going');
  });

  it('includes a pod whose agent has restarted, until the new one has confirmed', async () => {
    const a = await runningAgent('boot-a', 'boot');
    const b = await runningAgent('boot-b', 'boot');
    const rule = await appliedRule('boot', [a, b]);
    await deleteRule(fixture, 'boot');
    await b.says([rule, 'Removed']);
    const startedAt = Date.now() + 1_000;
    await setPodState(fixture, b.pod, { restarts: 1, startedAt });
    await a.says([rule, 'Removed']);
    await eventually(() => statusOf(fixture, 'boot')).toMatchObject({
      outOfSync: [{ pod: 'boot-b', reason: 'AgentRestarted' }],
    });
    expect(await readRule(fixture, 'boot')).toBeDefined();
    b.boots(startedAt);
    await b.says([rule, 'Removed']);
    await gone('boot');
  });

  it('includes a pod that lost its label, although no watch shows it', async () => {
    const a = await runningAgent('label-a', 'label');
    const rule = await appliedRule('label', [a]);
    await relabelPod(fixture, a.pod, null);
    await eventually(() => statusOf(fixture, 'label')).toMatchObject({ pods: { summary: '0/0' } });
    await deleteRule(fixture, 'label');
    await eventually(() => statusOf(fixture, 'label')).toMatchObject({
      outOfSync: [{ pod: 'label-a' }],
    });
    await a.says([rule, 'Removed']);
    await gone('label');
  });

  it('includes a pod that has had the rule since before the rule lost its label', async () => {
    const a = await runningAgent('lost-a', 'lost');
    const rule = await appliedRule('lost', [a]);
    await updateRule(fixture, 'lost', { metadata: { labels: { sdewanPurpose: null } } });
    await eventually(() => statusOf(fixture, 'lost')).toMatchObject({ state: 'Unknown status' });
    await deleteRule(fixture, 'lost');
    await eventually(() => statusOf(fixture, 'lost')).toMatchObject({
      outOfSync: [{ pod: 'lost-a' }],
    });
    expect(await readRule(fixture, 'lost')).toBeDefined();
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
    await fixture.rights.without(async () => {
      await deleteRule(fixture, 'rights');
      await a.says([rule, 'Removed']);
      await eventually(() => fixture.coordinator.log).toContainEqual(
        expect.objectContaining({
          rule: `FirewallRule ${fixture.namespace}/rights`,
          err: expect.objectContaining({ status: 403 }),
        }),
      );
      expect(await readRule(fixture, 'rights')).toBeDefined();
    });
    await gone('rights');
  });
});

describe('a rule made anew under the same name', () => {
  it('keeps its own finalizer and status, whatever is still reported of the old one', async () => {
    const rounds = async (name: string): Promise<void> => {
      const a = await runningAgent(`${name}-a`, name);
      for (let round = 0; round < 3; round += 1) {
        const old = await createRule(fixture, { name, purpose: name });
        await a.says([old, 'Applied']);
        // Deleted while the status of this is being written, and removed while that of the deletion
        // is.
        await deleteRule(fixture, name);
        await a.says([old, 'Removed']);
        await gone(name);
        const fresh = await createRule(fixture, { name, purpose: name });
        await a.says([old, 'Removed']);
        await eventually(() => readRule(fixture, name)).toMatchObject({
          metadata: { uid: fresh.metadata.uid, finalizers: [AGENTS_FINALIZER] },
          status: {
            inSync: false,
            state: 'Trying to apply',
            outOfSync: [{ pod: `${name}-a`, reason: 'Applying' }],
          },
        });
        await deleteRule(fixture, name);
        await a.says([fresh, 'Removed']);
        await gone(name);
      }
    };
    await Promise.all(['twin-1', 'twin-2', 'twin-3', 'twin-4', 'twin-5'].map(rounds));
  });
});
