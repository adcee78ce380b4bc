import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '#shared/runtime/log.ts';
import { createUbusDriver } from '../../agent/openwrt/ubus/driver.ts';
import { unconfirmedInMemory } from '../../agent/openwrt/ubus/write/testing.ts';
import { startSimulator, type Simulator } from '../openwrt/simulator/simulator.ts';
import { logIn } from '../openwrt/simulator/test-client.ts';
import { createSharedClock, type SharedClock } from './shared-clock.ts';

const AGENT = { username: 'sdewan', password: 'pw' };
const NEVER = new AbortController().signal;
const RULE = { config: 'firewall', type: 'rule', name: 'sdewan_r', values: { src: 'lan' } };

let clock: SharedClock;
let simulator: Simulator;
let folder: string;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'shared-clock-'));
  clock = createSharedClock();
  simulator = await startSimulator({
    clock: clock.device,
    factory: { agent: AGENT },
    reloadMs: 2_000,
  });
});
afterEach(async () => {
  await simulator.stop();
  clock.close();
  rmSync(folder, { recursive: true, force: true });
});

const login = () => clock.until(logIn(simulator.url, AGENT.username, AGENT.password));
const holdsRule = (): boolean => simulator.store.text('firewall')?.includes('sdewan_r') ?? false;

describe('one time for both sides', () => {
  it('has a driver wait as long as the device takes', async () => {
    const [usernameFile, passwordFile] = [join(folder, 'username'), join(folder, 'password')];
    writeFileSync(usernameFile, AGENT.username);
    writeFileSync(passwordFile, AGENT.password);
    const target = { url: simulator.url, usernameFile, passwordFile };
    const driver = createUbusDriver({
      target,
      packages: ['firewall'],
      unconfirmed: unconfirmedInMemory(),
      clock: clock.agent,
      log: silentLogger,
    });
    await clock.until(driver.read(NEVER));
    const begin = clock.nowMs();
    const section = { name: 'sdewan_r', type: 'rule', anonymous: false, options: { src: 'lan' } };
    const delta = { package: 'firewall', remove: [], set: [], append: [section] };
    const result = await clock.until(driver.apply([delta], NEVER));
    expect(result).toMatchObject({ outcome: 'done' });
    expect(clock.nowMs() - begin).toBe(2_000);
    await clock.until(driver.close());
  });

  it('undoes an apply after exactly the 30 seconds of its timer', async () => {
    const agent = await login();
    await agent.call('uci', 'add', RULE);
    await agent.call('uci', 'apply', { rollback: true, timeout: 30 });
    await clock.advance(29_999);
    expect(holdsRule()).toBe(true);
    await clock.advance(1);
    expect(holdsRule()).toBe(false);
  });

  it('ends a session after 300 idle seconds', async () => {
    const agent = await login();
    await clock.advance(300_000);
    expect(await clock.until(agent.call('system', 'info', {}))).toBe(-32002);
  });

  it('has timers of both sides happen in the order of their times', async () => {
    const order: string[] = [];
    const say = (what: string) => (): void => void order.push(`${what} at ${clock.nowMs()}`);
    void clock.agent.sleep(20).then(say('agent'));
    void clock.device.wait(10).then(say('device'));
    clock.agent.after(30, say('agent'));
    clock.device.after(5, say('device'));
    await clock.advance(30);
    expect(order).toEqual(['device at 5', 'device at 10', 'agent at 20', 'agent at 30']);
    expect(clock.agent.monotonic()).toBe(30);
  });
});

describe('time stands still', () => {
  it('does so while one of several has what it waits for, and has not gone on', async () => {
    clock.device.after(1_000, () => {});
    const inner = async (): Promise<number> => {
      await clock.until(clock.agent.sleep(10));
      await clock.until(clock.agent.sleep(10));
      return clock.nowMs();
    };
    const both = Promise.all([inner(), clock.until(inner())]);
    expect(await clock.until(both)).toEqual([20, 20]);
    expect(clock.nowMs()).toBe(20);
  });

  it('does so while requests and files are under way, however many', async () => {
    let early = false;
    clock.device.after(1, () => {
      early = true;
    });
    const work = async (): Promise<boolean> => {
      const agent = await logIn(simulator.url, AGENT.username, AGENT.password);
      for (let round = 0; round < 30; round += 1) {
        await agent.call('file', 'read', { path: '/etc/config/firewall' });
        await readFile(import.meta.filename);
      }
      return early;
    };
    expect(await clock.until(work())).toBe(false);
    expect(clock.nowMs()).toBe(0);
  });

  it('does so for ever when a server never takes a request, and says which one', async () => {
    const deaf = createTcpServer({ pauseOnConnect: true });
    await new Promise<void>((resolve) => deaf.listen(0, '127.0.0.1', resolve));
    const address = deaf.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    const giveUp = new AbortController();
    const hurried = createSharedClock({ stuckAfterRealMs: 100 });
    const call = fetch(`http://127.0.0.1:${port}/deaf`, { signal: giveUp.signal });
    await expect(hurried.until(call)).rejects.toThrow('this stays open: GET /deaf');
    giveUp.abort();
    await expect(call).rejects.toThrow('abort');
    hurried.close();
    deaf.close();
  });
});

describe('what does not come', () => {
  it('is an error when nothing is due any more', async () => {
    await expect(clock.until(new Promise(() => {}), 1_000)).rejects.toThrow('not in 1000 ms');
  });

  it('is named when a state is not reached', async () => {
    clock.agent.after(500, () => {});
    await expect(clock.reach('a miracle', () => false, 1_000)).rejects.toThrow('a miracle');
    expect(clock.nowMs()).toBe(500);
  });

  it('is the reason of the signal when a sleep is given up', async () => {
    const giveUp = new AbortController();
    const asleep = clock.agent.sleep(1_000, giveUp.signal);
    giveUp.abort(new Error('enough'));
    await expect(asleep).rejects.toThrow('enough');
    await clock.advance(2_000);
  });
});
