/**
 * A tenant that may create pods takes all rules of a CNF out of sync, by a pod with the CNF's
 * purpose that opted out of the agent, or keeps them from being deleted, by one with an agent of
 * his own that never says anything. Admission refuses both: here they got past it.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { cnfStatusResource } from '#shared/resources/other-kinds/cnf-status.ts';
import { createAgent, type SimulatedAgent } from '../integration/coordinator/agent.ts';
import { eventually } from '../integration/support/eventually.ts';
import { createRunningPod, podResource, removePod } from '../integration/coordinator/pods.ts';
import { createRule, deleteRule, readRule, statusOf } from '../integration/coordinator/rules.ts';
import { createWorld, type World } from '../integration/coordinator/world.ts';

let world: World;
let agent: SimulatedAgent;
beforeAll(async () => {
  world = await createWorld();
  const pod = await createRunningPod(world, { name: 'cnf-1-a' });
  const uid = '00000000-0000-4000-8000-000000000001';
  const owner = { apiVersion: 'example.org/v1', kind: 'CnfSet', name: 'cnf-1', uid };
  const metadata = { ownerReferences: [{ ...owner, controller: true }] };
  const { namespace, name } = pod.metadata;
  const patch = { type: 'merge', body: { metadata } } as const;
  await world.client.patch(podResource, { namespace, name }, { patch });
  agent = await createAgent(world, pod);
});
afterAll(async () => {
  await agent.close();
  await world.close();
});

it('does not count, and CNFStatus names it', async () => {
  const rule = await createRule(world, { name: 'target' });
  await agent.says([rule, 'Applied']);
  await eventually(() => statusOf(world, 'target')).toMatchObject({ inSync: true });
  const bare = await createRunningPod(world, { name: 'bare', agentServes: null });
  const read = async () => {
    const at = { namespace: world.namespace, name: 'cnf-1' };
    return (await world.client.get(cnfStatusResource, at)).status;
  };
  await eventually(read).toMatchObject({
    pods: { total: 1 },
    message: expect.stringMatching(/^the pod is not counted.* \(pod bare\)$/),
  });
  // A change for which the coordinator has to write a status, while the pod is there.
  await agent.says([rule, 'Pending', { reason: 'Applying' }]);
  await eventually(() => statusOf(world, 'target')).toMatchObject({ inSync: false });
  await agent.says([rule, 'Applied']);
  await eventually(() => statusOf(world, 'target')).toMatchObject({
    inSync: true,
    pods: { summary: '1/1' },
  });
  await removePod(world, bare);
});

it('holds up no deletion', async () => {
  const rule = await createRule(world, { name: 'held' });
  await agent.says([rule, 'Applied']);
  await eventually(() => statusOf(world, 'held')).toMatchObject({ inSync: true });
  const bare = await createRunningPod(world, { name: 'mute' });
  await deleteRule(world, 'held');
  await agent.says([rule, 'Removed']);
  await eventually(() => readRule(world, 'held')).toBeUndefined();
  await removePod(world, bare);
});
