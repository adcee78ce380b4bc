/**
 * The conformance suite tests what is found on a device, the contract tests what follows from it;
 * here only how often the kernel is read.
 */
import { isDeepStrictEqual } from 'node:util';
import { expect, it } from 'vitest';
import { ASSUMED, OF_TODAY } from '#shared/resources/capabilities.ts';
import { createManualClock } from '#shared/runtime/testing/manual-clock.ts';
import { OpenwrtUnreachableError } from '../driver.ts';
import { answered, fakeSession } from '../ubus/client/testing.ts';
import { createKernel } from './kernel.ts';

const { signal } = new AbortController();
const HOOK = 'chain mwan3_hook\n';

it('reads the state once in a new session, and the first look uses that answer', async () => {
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

it('takes nothing of mwan3 for loaded while that is being reloaded, and asks again at the next look', async () => {
  const { session, calls } = fakeSession(({ args }) =>
    answered({ code: 0, stdout: isDeepStrictEqual(args?.['params'], ['state']) ? HOOK : '' }),
  );
  const kernel = createKernel(createManualClock());
  await kernel.begin(session, signal);
  const rule = { name: 'web', anonymous: false, type: 'rule', options: {} };
  const contents = (name: string) => (name === 'mwan3' ? [rule] : []);
  const look = { session, capabilities: ASSUMED, contents, signal };
  const { incomparable, passing } = await kernel.look(look);
  expect(passing?.has('mwan3')).toBe(true);
  expect(incomparable.get('mwan3')).toEqual(new Map([['web', 'mwan3 is being reloaded']]));
  await kernel.look(look);
  const asked = calls.map(({ args }) => args?.['params']);
  expect(asked).toEqual([['state'], ['mwan3'], ['state'], ['mwan3']]);
});

it('lacks what charon has not loaded until it has; another charon is asked at once', async () => {
  const clock = createManualClock();
  const fixture = { process: '7', loaded: '' };
  const { session, calls } = fakeSession(({ args }) => {
    const isState = isDeepStrictEqual(args?.['params'], ['state']);
    return answered({ code: 0, stdout: isState ? `charon ${fixture.process}\n` : fixture.loaded });
  });
  const kernel = createKernel(clock);
  await kernel.begin(session, signal);
  const options = { enabled: '1' };
  const contents = (name: string) =>
    name === 'ipsec' ? [{ name: 'hub', anonymous: false, type: 'remote', options }] : [];
  const look = { session, capabilities: OF_TODAY, contents, signal };
  const lacking = async () => [...((await kernel.look(look)).lacking.get('ipsec')?.values() ?? [])];
  const asked = () =>
    calls.filter(({ args }) => isDeepStrictEqual(args?.['params'], ['tunnels'])).length;
  const HUB = 'hub: IKEv2, no reauthentication\n';

  await kernel.reloaded(look, ['ipsec']);
  expect(await lacking()).toEqual(['connection hub in charon']);
  fixture.loaded = HUB;
  await kernel.reloaded(look, ['ipsec']);
  expect(await lacking()).toEqual([]);
  const before = asked();
  clock.advance(3_000);
  expect(await lacking()).toEqual([]);
  expect(asked()).toBe(before);
  Object.assign(fixture, { process: '8', loaded: '' });
  expect(await lacking()).toEqual(['connection hub in charon']);
});

it('asks a charon that does not answer once a minute, and lacks knowledge of IPsec alone', async () => {
  const clock = createManualClock();
  const { session, calls } = fakeSession(({ args }) => {
    if (isDeepStrictEqual(args?.['params'], ['tunnels']))
      throw new OpenwrtUnreachableError('ubus file exec', 'no answer within 15 s');
    return answered({ code: 0, stdout: 'charon 7\n' });
  });
  const kernel = createKernel(clock);
  await kernel.begin(session, signal);
  const options = { enabled: '1' };
  const hub = { name: 'hub', anonymous: false, type: 'remote', options };
  const contents = (name: string) => (name === 'ipsec' ? [hub] : []);
  const look = { session, capabilities: OF_TODAY, contents, signal };
  const asked = () =>
    calls.filter(({ args }) => isDeepStrictEqual(args?.['params'], ['tunnels'])).length;
  const looks = async () => {
    const { incomparable, unread } = await kernel.look(look);
    return { incomparable: [...incomparable.keys()], unread, asked: asked() };
  };

  expect(await looks()).toEqual({ incomparable: ['ipsec'], unread: undefined, asked: 1 });
  clock.advance(59_000);
  expect(await looks()).toMatchObject({ incomparable: ['ipsec'], asked: 1 });
  clock.advance(1_000);
  expect(await looks()).toMatchObject({ incomparable: ['ipsec'], asked: 2 });
});

it('reads free space, and a line of blanks in one go', async () => {
  const overlay = '/dev/loop 0 10 4 6 40% /overlay\ntmpfs 100 1 99 1% /tmp';
  const { session } = fakeSession(() =>
    answered({ code: 0, stdout: `${overlay}\na${' '.repeat(131_072)}` }),
  );
  const kernel = createKernel(createManualClock());
  await kernel.begin(session, signal);
  await kernel.look({ session, capabilities: OF_TODAY, contents: () => [], signal });
  expect(kernel.space()).toEqual({ config: 6 * 1_024, tmp: 99 * 1_024 });
}, 20_000);
