import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { setTimeout as sleep } from 'node:timers/promises';
import { createManualClock, type ManualClock } from './clock.ts';
import type { Fault } from './faults.ts';
import { startSimulator, type Simulator, type SimulatorOptions } from './simulator.ts';
import { logIn, type TestClient } from './test-client.ts';

let simulator: Simulator;
const AGENT = { username: 'sdewan', password: 'pw' };

/** These tests look at more than the agent may. */
const MORE = {
  'sdewan-agent': {
    read: {
      ubus: { system: ['info'], uci: ['get', 'changes'] },
      uci: ['firewall', 'mwan3', 'ipsec', 'network'],
    },
  },
};
const filesIn = (folder: string): [string, string][] =>
  readdirSync(join(import.meta.dirname, folder)).map((name) => [
    name,
    readFileSync(join(import.meta.dirname, folder, name), 'utf8'),
  ]);
const aclFiles = {
  ...Object.fromEntries([...filesIn('factory/acl'), ...filesIn('acl')]),
  'more.json': JSON.stringify(MORE),
};
const start = async (options: SimulatorOptions = {}): Promise<TestClient> => {
  simulator = await startSimulator({
    factory: { rootPassword: 'root-pw', agent: AGENT, aclFiles },
    ...options,
  });
  return logIn(simulator.url, AGENT.username, AGENT.password);
};
afterEach(() => simulator.stop());

/** Lets time pass in steps until the call is answered; how much it took at least is what counts. */
const takenBy = async (
  clock: ManualClock,
  call: Promise<unknown>,
  step: number,
): Promise<number> => {
  const begin = clock.nowMs();
  const answered = call.then(() => true);
  while (!(await Promise.race([answered, sleep(2, false)]))) clock.advance(step);
  return clock.nowMs() - begin;
};

const RULE = { config: 'firewall', type: 'rule', name: 'sdewan_r', values: { src: 'lan' } };
const firewall = (): string => readFileSync(`${simulator.configDirectory}/firewall`, 'utf8');
const writesOf = (name: string): string[] =>
  simulator
    .journal()
    .flatMap((entry) => (entry.event === 'write' && entry.package === name ? [entry.by.call] : []));

describe('the journal', () => {
  test('records each write with its author and text, and each reload', async () => {
    const agent = await start();
    await agent.call('uci', 'add', RULE);
    expect(writesOf('firewall')).toEqual(['factory']);
    await agent.call('uci', 'apply', { rollback: true, timeout: 5 });
    await agent.call('file', 'exec', { command: '/sbin/fw4', params: ['reload'] });
    await agent.call('uci', 'rollback', {});
    expect(writesOf('firewall')).toEqual(['factory', 'uci apply', 'uci rollback']);
    const [, applied] = simulator
      .journal()
      .filter((entry) => entry.event === 'write' && entry.package === 'firewall');
    expect(applied).toMatchObject({
      by: { user: 'sdewan' },
      text: expect.stringContaining("config rule 'sdewan_r'"),
    });
    expect(simulator.reloads()).toEqual({ firewall: 1 });
    expect(simulator.firewall().sections).toContain('sdewan_r');
  });

  test('outlives the process', async () => {
    await start();
    const stateDirectory = `${simulator.journalPath}-state`;
    const again = await startSimulator({ stateDirectory });
    await again.stop();
    const third = await startSimulator({ stateDirectory });
    const starts = third.journal().filter(({ event }) => event === 'start');
    await third.stop();
    expect(starts.map(({ seq }) => seq)[1]).toBeGreaterThan(starts[0]?.seq ?? 0);
    expect(starts).toHaveLength(2);
  });
});

test('the factory files have comments, and the first commit of a package loses its own', async () => {
  const agent = await start();
  const text = (name: string): string =>
    readFileSync(`${simulator.configDirectory}/${name}`, 'utf8');
  const packages = ['firewall', 'mwan3', 'network'];
  expect(packages.filter((name) => text(name).includes('#'))).toEqual(packages);
  await agent.call('uci', 'add', RULE);
  await agent.call('uci', 'apply', { rollback: true, timeout: 30 });
  expect(packages.filter((name) => text(name).includes('#'))).toEqual(['mwan3', 'network']);
  await agent.call('uci', 'rollback', {});
  expect(text('firewall')).toContain('#');
});

describe('time', () => {
  test('a reload takes 0.6 ms per rule when asked to, and other calls pass meanwhile', async () => {
    const clock = createManualClock();
    const agent = await start({ clock, reloadMsPerRule: 0.6 });
    const reload = agent.call('file', 'exec', { command: '/sbin/fw4', params: ['reload'] });
    expect(await agent.call('system', 'info', {})).toMatchObject([0, {}]);
    const sections = simulator.firewall().sections.length;
    expect(await takenBy(clock, reload, 1)).toBeGreaterThanOrEqual(0.6 * sections);
    expect(await reload).toEqual([0, { code: 0 }]);
  });

  test('rpcd answers nobody while it commits, and a program beside it sees the old file', async () => {
    const clock = createManualClock();
    const agent = await start({ clock, writeMsPerKilobyte: 100 });
    await agent.call('uci', 'add', RULE);
    const apply = agent.call('uci', 'apply', { rollback: true, timeout: 30 });
    const read = agent.call('file', 'read', { path: '/etc/config/firewall' });
    const seen = simulator.shell('/bin/dd', 'if=/etc/config/firewall', 'bs=131072');
    expect(await seen).toMatchObject({ stdout: expect.not.stringContaining('sdewan_r') });
    expect(await takenBy(clock, read, 10)).toBeGreaterThanOrEqual(100);
    expect(await apply).toEqual([0]);
    expect(await read).toMatchObject([0, { data: expect.stringContaining('sdewan_r') }]);
  });

  test('an action of mwan3 takes the time that it is given', async () => {
    const clock = createManualClock();
    await start({ clock, serviceMs: { mwan3: 1_000 } });
    const reload = simulator.shell('/etc/init.d/mwan3', 'reload');
    clock.advance(999);
    expect(simulator.reloads()).toEqual({});
    clock.advance(1);
    await reload;
    expect(simulator.reloads()).toEqual({ mwan3: 1 });
  });

  test('each call of uci takes time by the size of the package when asked to', async () => {
    const clock = createManualClock();
    const agent = await start({ clock, uciMsPerKilobyte: 1 });
    const add = agent.call('uci', 'add', RULE);
    expect(await takenBy(clock, add, 0.5)).toBeGreaterThanOrEqual(firewall().length / 1024);
    expect(await add).toMatchObject([0, { section: 'sdewan_r' }]);
  });
});

describe('services', () => {
  test('are reloaded by procd where the image does so', async () => {
    const agent = await start({ procdReloads: true });
    await agent.call('uci', 'add', RULE);
    await agent.call('uci', 'apply', { rollback: true, timeout: 5 });
    expect(simulator.reloads()).toEqual({ firewall: 1 });
    await agent.call('uci', 'rollback', {});
    expect(simulator.reloads()).toEqual({ firewall: 2 });
    expect(simulator.firewall().sections).not.toContain('sdewan_r');
  });
});

describe('faults', () => {
  const info = (agent: TestClient): Promise<unknown> => agent.call('system', 'info', {});

  test.each<[string, Fault['action'], unknown]>([
    ['an error of uhttpd', { kind: 'error', error: 'timeout' }, -32003],
    ['a status of ubus', { kind: 'status', status: 9 }, [9]],
  ])('%s, once', async (_, action, expected) => {
    const agent = await start();
    simulator.faults.add({ object: 'system', times: 1, action });
    expect(await info(agent)).toEqual(expected);
    expect(await info(agent)).toMatchObject([0, {}]);
  });

  test('a reset, before or after the call is carried out', async () => {
    const agent = await start();
    const off = simulator.faults.add({ method: 'add', action: { kind: 'reset' } });
    await expect(agent.call('uci', 'add', RULE)).rejects.toThrow('fetch failed');
    expect(await agent.call('uci', 'changes', { config: 'firewall' })).toEqual([
      0,
      { changes: [] },
    ]);
    off();
    simulator.faults.add({ method: 'add', when: 'after', action: { kind: 'reset' } });
    await expect(agent.call('uci', 'add', RULE)).rejects.toThrow('fetch failed');
    expect(await agent.call('uci', 'changes', { config: 'firewall' })).not.toEqual([
      0,
      { changes: [] },
    ]);
  });

  test('a delay', async () => {
    const clock = createManualClock();
    const agent = await start({ clock });
    simulator.faults.add({ object: 'uci', action: { kind: 'delay', ms: 1_000 } });
    const add = agent.call('uci', 'add', RULE);
    expect(await takenBy(clock, add, 100)).toBeGreaterThanOrEqual(1_000);
    expect(await add).toMatchObject([0, {}]);
  });

  test('a hang ends with the simulator', async () => {
    const agent = await start();
    simulator.faults.add({ contains: 'sdewan_r', action: { kind: 'hang' } });
    const ended = agent.call('uci', 'add', RULE).catch(() => 'ended');
    await info(agent);
    await simulator.stop();
    expect(await ended).toBe('ended');
  });

  test('a restart of the container brings the factory configuration back', async () => {
    const agent = await start();
    const factory = firewall();
    await agent.call('uci', 'add', RULE);
    await agent.call('uci', 'apply', {});
    expect(firewall()).not.toBe(factory);
    simulator.faults.add({ object: 'system', times: 1, action: { kind: 'restart' } });
    await expect(info(agent)).rejects.toThrow('fetch failed');
    expect(firewall()).toBe(factory);
    expect(await info(agent)).toBe(-32002);
  });
});

describe('the control API', () => {
  const request = async (path: string, init?: RequestInit): Promise<Response> =>
    fetch(`${simulator.url}/_simulator${path}`, init);

  test('shows state, journal and packages, and takes packages and faults', async () => {
    const agent = await start();
    expect(await (await request('/state')).json()).toMatchObject({ reloads: {}, faults: [] });
    expect(await (await request('/journal')).json()).toEqual(simulator.journal());
    const text = "\nconfig rule 'admin_ü'\n\n".replace('_ü', '_u');
    expect((await request('/config/firewall', { method: 'PUT', body: text })).status).toBe(200);
    expect(await (await request('/config/firewall')).text()).toBe(text);
    expect(writesOf('firewall').at(-1)).toBe('administrator');
    const fault = { object: 'system', action: { kind: 'status', status: 9 } };
    await request('/faults', { method: 'POST', body: JSON.stringify(fault) });
    expect(await agent.call('system', 'info', {})).toEqual([9]);
    await request('/faults', { method: 'DELETE' });
    await request('/kill-rpcd', { method: 'POST' });
    expect(await agent.call('uci', 'configs', {})).toBe(-32000);
    expect((await request('/restart', { method: 'POST' })).status).toBe(200);
    expect(firewall()).not.toBe(text);
  });

  test('refuses what it does not understand', async () => {
    await start();
    expect((await request('/faults', { method: 'POST', body: '{"action":"x"}' })).status).toBe(400);
    expect((await request('/nothing')).status).toBe(404);
  });
});

test('the factory has what an administrator made, and mwan3 interfaces net1 and net2', async () => {
  await start();
  const sections = (name: string): string[] =>
    simulator.store.load(name).package.sections.map((section) => section.name);
  expect(sections('mwan3')).toEqual(expect.arrayContaining(['globals', 'net1', 'net2']));
  expect(sections('network')).toEqual(expect.arrayContaining(['net0', 'net1', 'net2']));
  expect(sections('firewall')).toEqual(expect.arrayContaining(['admin_ssh', 'admin_web']));
  expect(simulator.firewall().policies).toEqual({
    input: 'reject',
    output: 'accept',
    forward: 'reject',
  });
});

test('files that a volume holds are not written by the factory, in no restart', async () => {
  const rootDirectory = mkdtempSync(`${tmpdir()}/openwrt-simulator-root-`);
  const mounted = ['/etc/config/rpcd', '/usr/share/rpcd/acl.d/sdewan-agent.json'];
  for (const file of mounted) {
    mkdirSync(dirname(rootDirectory + file), { recursive: true });
    writeFileSync(rootDirectory + file, '{}');
  }
  simulator = await startSimulator({ rootDirectory, factory: { agent: AGENT } });
  simulator.restart();
  expect(mounted.map((file) => readFileSync(rootDirectory + file, 'utf8'))).toEqual(['{}', '{}']);
  rmSync(rootDirectory, { recursive: true });
});
