/** What is found on a device is the conformance suite's, what follows from it the contract's; here only what is asked how often. */
import { expect, it } from 'vitest';
import { ASSUMED } from '#shared/resources/capabilities.ts';
import { createManualClock } from '#shared/runtime/manual-clock.ts';
import { answered, fakeSession } from '../ubus/client/testing.ts';
import { createKernel } from './kernel.ts';

const { signal } = new AbortController();

it('a new session asks for the state once: the first look takes what was answered then', async () => {
  const clock = createManualClock();
  const { session, calls } = fakeSession(() => answered({ code: 0, stdout: 'chain mwan3_hook\n' }));
  const kernel = createKernel(clock);
  const asked = (): unknown[] => calls.map(({ args }) => args?.['params']);
  const look = { session, capabilities: ASSUMED, contents: () => [], signal };
  await kernel.begin(session, signal);
  expect((await kernel.look(look)).unread).toBeUndefined();
  expect(asked()).toEqual([['state']]);
  await kernel.look(look);
  expect(asked()).toEqual([['state'], ['state']]);
});
