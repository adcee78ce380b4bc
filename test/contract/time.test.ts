/**
 * How long the agent waits for an OpenWRT, on one clock with it: the limits are the product's, the
 * waiting is not real.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '#shared/runtime/log.ts';
import { OpenwrtUnreachableError, type Driver } from '../../agent/openwrt/driver.ts';
import { createIcnDriver } from '../../agent/openwrt/icn/driver.ts';
import { createUbusDriver } from '../../agent/openwrt/ubus/driver.ts';
import { unconfirmedInMemory } from '../../agent/openwrt/ubus/write/testing.ts';
import { startOpenwrt, type TestOpenwrt } from './agent/support/openwrt.ts';
import { PACKAGES } from './agent/support/pass.ts';
import type { TestClock } from './agent/support/time.ts';

const NEVER = new AbortController().signal;

let clock: TestClock;
let openwrt: TestOpenwrt;

beforeEach(async () => {
  openwrt = await startOpenwrt({ uciMsPerKilobyte: 0 });
  ({ clock } = openwrt);
});
afterEach(() => openwrt.stop());

const drivers: Record<string, { open: () => Driver; waitsMs: number }> = {
  ubus: {
    open: () =>
      createUbusDriver({
        packages: PACKAGES,
        unconfirmed: unconfirmedInMemory(),
        target: targetOf(openwrt),
        clock: clock.agent,
        log: silentLogger,
      }),
    waitsMs: 5_000,
  },
  icn: {
    open: () => createIcnDriver({ target: targetOf(openwrt), reassertMs: 0, clock: clock.agent }),
    waitsMs: 15_000,
  },
};
const targetOf = ({ simulator, usernameFile, passwordFile }: TestOpenwrt) => ({
  url: simulator.url,
  usernameFile,
  passwordFile,
});

describe.each(Object.entries(drivers))('the %s driver', (_name, { open, waitsMs }) => {
  it('gives up a call that is not answered, and reports OpenWRT as unreachable', async () => {
    const driver = open();
    await clock.until(driver.read(NEVER));
    openwrt.simulator.faults.add({ times: 1, action: { kind: 'hang' } });
    const begin = clock.agent.monotonic();
    await expect(clock.until(driver.read(NEVER))).rejects.toThrow(OpenwrtUnreachableError);
    expect(clock.agent.monotonic() - begin).toBe(waitsMs);
    await clock.until(driver.close());
  });

  it('says while a call is under way, and after that has failed, since when OpenWRT has not answered', async () => {
    const driver = open();
    await clock.until(driver.read(NEVER));
    expect(driver.unansweredSince()).toBeUndefined();
    openwrt.simulator.faults.add({ times: 1, action: { kind: 'hang' } });
    const begin = clock.agent.monotonic();
    const look = driver.fingerprint(NEVER).catch((error: unknown) => error);
    await clock.advance(waitsMs - 1);
    expect(driver.unansweredSince()).toBe(begin);
    expect(await clock.until(look)).toBeInstanceOf(OpenwrtUnreachableError);
    expect(driver.unansweredSince()).toBe(begin);
    await clock.until(driver.fingerprint(NEVER));
    expect(driver.unansweredSince()).toBeUndefined();
    await clock.until(driver.close());
  });

  it('waits for an answer that comes just before that', async () => {
    const driver = open();
    await clock.until(driver.read(NEVER));
    openwrt.simulator.faults.add({ times: 1, action: { kind: 'delay', ms: waitsMs - 1 } });
    const begin = clock.agent.monotonic();
    await clock.until(driver.read(NEVER));
    expect(clock.agent.monotonic() - begin).toBe(waitsMs - 1);
    await clock.until(driver.close());
  });
});
