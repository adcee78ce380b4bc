/**
 * A login that OpenWRT refuses is not tried at each look of the agent, by either driver; a restart
 * of OpenWRT and another password are noticed at the next look all the same.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '#shared/runtime/clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import type { OpenwrtTarget } from '../../agent/openwrt/ubus/login/credentials.ts';
import { OpenwrtUnreachableError, type Driver } from '../../agent/openwrt/driver.ts';
import { createIcnDriver } from '../../agent/openwrt/icn/driver.ts';
import { createUbusDriver } from '../../agent/openwrt/ubus/driver.ts';
import { unconfirmedInMemory } from '../../agent/openwrt/ubus/write/testing.ts';
import { TcpProxy } from '../faults/tcp-proxy.ts';
import { startOpenwrt, type TestOpenwrt } from './agent/support/openwrt.ts';

const NEVER = new AbortController().signal;
/** The longest time between two looks: one second, spread by a quarter. */
const LOOK_MS = 1_250;
const MINUTE = 60_000;

let now: number;
const clock = { ...systemClock, monotonic: () => now };

const drivers = {
  ubus: {
    login: { object: 'session', method: 'login' },
    create: (target: OpenwrtTarget): Driver =>
      createUbusDriver({
        target,
        packages: ['firewall'],
        unconfirmed: unconfirmedInMemory(),
        clock,
        log: silentLogger,
      }),
  },
  icn: {
    login: { object: 'luci', method: 'POST' },
    create: (target: OpenwrtTarget): Driver => createIcnDriver({ target, reassertMs: 0, clock }),
  },
} as const;

describe.each(Object.entries(drivers))('driver %s', (_name, { login, create }) => {
  let openwrt: TestOpenwrt;
  let proxy: TcpProxy;
  let driver: Driver;
  let password: string;
  beforeEach(async () => {
    now = 0;
    openwrt = await startOpenwrt({ login: 'stock', time: 'real' });
    proxy = await TcpProxy.start(openwrt.simulator.url);
    password = readFileSync(openwrt.passwordFile, 'utf8');
    writeFileSync(openwrt.passwordFile, 'not this one');
    // Nothing but an entry in the journal for each login.
    openwrt.simulator.faults.add({ ...login, action: { kind: 'delay', ms: 0 } });
    const { usernameFile, passwordFile } = openwrt;
    driver = create({ url: `http://127.0.0.1:${proxy.port}`, usernameFile, passwordFile });
  });
  afterEach(async () => {
    await driver.close();
    await proxy.stop();
    await openwrt.stop();
  });

  const tries = (): number =>
    openwrt.simulator.journal().filter(({ event }) => event === 'fault').length;
  const look = (): Promise<string> => {
    now += LOOK_MS;
    return driver.fingerprint(NEVER);
  };
  const lookInVain = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += LOOK_MS)
      await expect(look()).rejects.toBeInstanceOf(OpenwrtUnreachableError);
  };

  /** A wait of at least three seconds begins: OpenWRT has just refused the login again. */
  const lookUntilWait = async (): Promise<void> => {
    await lookInVain(5 * MINUTE);
    const before = tries();
    while (tries() === before) await lookInVain(LOOK_MS);
  };

  it('logs in less and less often', async () => {
    await lookInVain(5 * MINUTE);
    const before = tries();
    expect(before).toBeGreaterThan(5);
    await lookInVain(5 * MINUTE);
    // A look each 1.25 s would be 240.
    expect(tries() - before).toBeLessThan(100);
    expect(tries() - before).toBeGreaterThan(5);
  });

  it('logs in with another password at the next look', async () => {
    await lookUntilWait();
    writeFileSync(openwrt.passwordFile, password);
    await expect(look()).resolves.toEqual(expect.any(String));
  });

  it('logs in at the next look after OpenWRT was away', async () => {
    await lookUntilWait();
    proxy.setAway(true);
    await lookInVain(LOOK_MS);
    proxy.setAway(false);
    const before = tries();
    await lookInVain(LOOK_MS);
    expect(tries()).toBe(before + 1);
  });
});
