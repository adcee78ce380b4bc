import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import type { KubeClient } from '#shared/kube/client.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { createManualClock } from '#shared/runtime/manual-clock.ts';
import { createPolicyWorld } from './world.ts';

/** It is not asked for anything while no CNF asks for policies. */
const client = {} as unknown as KubeClient;

it('leaves nothing on the signal of the program, however long no CNF asks for policies', async () => {
  const clock = createManualClock();
  const end = new AbortController();
  const nothing = { onTouched: () => {}, onPolicies: () => {} };
  const options = { client, isWanted: () => false, ...nothing, log: silentLogger };
  const running = createPolicyWorld({ ...options, clock }).run(end.signal);
  for (let second = 0; second < 100; second += 1) await clock.step();
  await clock.awaited();
  expect(getEventListeners(end.signal, 'abort')).toHaveLength(1);
  end.abort();
  await expect(running).resolves.toBeUndefined();
});
