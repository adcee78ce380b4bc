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
import { createFixture, type Fixture } from '../integration/coordinator/fixture.ts';

let fixture: Fixture;
let agent: SimulatedAgent;
beforeAll(async () => {
  fixture = await createFixture();
  const pod = await createRunningPod(fixture, { name: 'cnf-1-a' });
  const uid = '00000000-0000-4000-8000-000000000001';
  const owner = { apiVersion: 'example.org/v1', kind: 'CnfSet', name: 'cnf-1', uid };
  const metadata = { ownerReferences: [{ ...owner, controller: true }] };
  const { namespace, name } = pod.metadata;
  const patch = { type: 'merge', body: { metadata } } as const;
  await fixture.client.patch(podResource, { namespace, name }, { patch });
  agent = await createAgent(fixture, pod);
});
afterAll(async () => {
  await agent.close();
  await fixture.close();
});

it('does not count, and CNFStatus names it', async () => {
  const rule = await createRule(fixture, { name: 'target' });
  await agent.says([rule, 'Applied']);
  await eventually(() => statusOf(fixture, 'target')).toMatchObject({ inSync: true });
  const bare = await createRunningPod(fixture, { name: 'bare', agentServes: null });
  const read = async () => {
    const at = { namespace: fixture.namespace, name: 'cnf-1' };
    return (await fixture.client.get(cnfStatusResource, at)).status;
  };
  await eventually(read).toMatchObject({
    pods: { total: 1 },
    message: expect.stringMatching(/^the pod is not counted.* \(pod bare\)$/),
  });
  // A change for which the coordinator has to write a status, while the pod is there.
  await agent.says([rule, 'Pending', { reason: 'Applying' }]);
  await eventually(() => statusOf(fixture, 'target')).toMatchObject({ inSync: false });
  await agent.says([rule, 'Applied']);
  await eventually(() => statusOf(fixture, 'target')).toMatchObject({
    inSync: true,
    pods: { summary: '1/1' },
  });
  await removePod(fixture, bare);
});

it('holds up no deletion', async () => {
  const rule = await createRule(fixture, { name: 'held' });
  await agent.says([rule, 'Applied']);
  await eventually(() => statusOf(fixture, 'held')).toMatchObject({ inSync: true });
  const bare = await createRunningPod(fixture, { name: 'mute' });
  await deleteRule(fixture, 'held');
  await agent.says([rule, 'Removed']);
  await eventually(() => readRule(fixture, 'held')).toBeUndefined();
  await removePod(fixture, bare);
});
