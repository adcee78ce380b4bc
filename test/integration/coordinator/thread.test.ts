import { afterAll, beforeAll, expect, it } from 'vitest';
import { AGENTS_FINALIZER } from '#shared/names.ts';
import { createAgent } from './agent.ts';
import { createPod, setPodState } from './pods.ts';
import { createRule, deleteRule, readRule, statusOf } from './rules.ts';
import { eventually } from './eventually.ts';
import { createWorld, type World } from './world.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());

it('one rule, one pod: with the finalizer, waiting, in sync, removed', async () => {
  const rule = await createRule(world, { name: 'reject-80' });
  await eventually(() => statusOf(world, 'reject-80')).toMatchObject({
    inSync: false,
    pods: { summary: '0/0' },
    message: expect.stringContaining('has the label sdewanPurpose'),
  });
  expect((await readRule(world, 'reject-80'))?.metadata.finalizers).toEqual([AGENTS_FINALIZER]);

  const pod = await createPod(world, { name: 'cnf-1-a' });
  await setPodState(world, pod, {});
  const agent = await createAgent(world, pod);
  expect(await agent.says([rule, 'Applied'])).toMatchObject({ status: 200 });
  await eventually(() => statusOf(world, 'reject-80')).toMatchObject({
    inSync: true,
    appliedVersion: '1',
    state: 'In Sync',
    pods: { summary: '1/1' },
  });

  await deleteRule(world, 'reject-80');
  await eventually(() => statusOf(world, 'reject-80')).toMatchObject({
    state: 'Being delete',
    outOfSync: [{ pod: 'cnf-1-a', reason: 'NotConfirmed' }],
  });
  const deleting = await readRule(world, 'reject-80');
  await agent.says([deleting!, 'Removed']);
  await eventually(() => readRule(world, 'reject-80')).toBeUndefined();
  await agent.close();
});
