/** The conformance suite tests what is found on a device, the contract tests what follows from it; here only how often the kernel is read. */
import { isDeepStrictEqual } from 'node:util';
import { expect, it } from 'vitest';
import { ASSUMED } from '#shared/resources/capabilities.ts';
import { createManualClock } from '#shared/runtime/testing/manual-clock.ts';
import { answered, fakeSession } from '../ubus/client/testing.ts';
import { createKernel } from './kernel.ts';

const { signal } = new AbortController();
const HOOK = 'chain mwan3_hook\n';

it('a new session reads the state once, and the first look uses that answer', async () => {
  const clock = createManualClock();
  const { session, calls } = fakeSession(() => answered({ code: 0, stdout: 'table inet other\n' }));
  const kernel = createKernel(clock);
  const asked = (): unknown[] => calls.map(({ args }) => args?.['params']);
  const look = { session, capabilities: ASSUMED, contents: () => [], signal };
  await kernel.begin(session, signal);
  expect((await kernel.look(look)).unread).toBeUndefined();
  expect(asked()).toEqual([['state']]);
  await kernel.look(look);
  expect(asked()).toEqual([['state'], ['state']]);
});

it('while mwan3 is being reloaded nothing of it is said to be in the kernel, and the next look asks again', async () => {
  const { session, calls } = fakeSession(({ args }) =>
    answered({ code: 0, stdout: isDeepStrictEqual(args?.['params'], ['state']) ? HOOK : '' }),
  );
  const kernel = createKernel(createManualClock());
  await kernel.begin(session, signal);
  const rule = { name: 'web', anonymous: false, type: 'rule', options: {} };
  const contents = (name: string) => (name === 'mwan3' ? [rule] : []);
  const look = { session, capabilities: ASSUMED, contents, signal };
  const { incomparable, passing } = await kernel.look(look);
  expect(passing).toEqual(new Set(['mwan3']));
  expect(incomparable.get('mwan3')).toEqual(new Map([['web', 'mwan3 is being reloaded']]));
  await kernel.look(look);
  const asked = calls.map(({ args }) => args?.['params']);
  expect(asked).toEqual([['state'], ['mwan3'], ['state'], ['mwan3']]);
});
