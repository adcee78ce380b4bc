/** The conformance suite tests what is found on a device, the contract tests what follows from it; here only how often the kernel is read. */
import { expect, it } from 'vitest';
import { ASSUMED } from '#shared/resources/capabilities.ts';
import { createManualClock } from '#shared/runtime/testing/manual-clock.ts';
import { answered, fakeSession } from '../ubus/client/testing.ts';
import { createKernel } from './kernel.ts';

const { signal } = new AbortController();

it('a new session reads the state once, and the first look uses that answer', async () => {
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
