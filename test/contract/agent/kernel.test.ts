/**
 * What others take out of the kernel, and what the kernel never got: with the helper that the
 * kubelet mounts, the agent notices, repairs, and reports what is not in force. The simulator
 * answers as the device did (test/openwrt/simulator/programs).
 */
import { afterEach, describe, expect, it } from 'vitest';
import type { RuleObject } from '#shared/kube/objects.ts';
import { startOpenwrt, type OpenwrtOptions, type TestOpenwrt } from './support/openwrt.ts';
import { cr, openPass, type TestPass } from './support/pass.ts';

const NEVER = new AbortController().signal;
/**
 * The loop looks once a second, and the look is to be repaired 5 s after the harm at the latest.
 */
const NOTICED_MS = 4_000;

const rules: readonly RuleObject[] = [
  cr('FirewallRule', 'web', { src: 'lan', proto: 'tcp', dest_port: '80', target: 'ACCEPT' }),
  cr('CNFRoute', 'to-hub', { dst: '10.9.0.0/16', gw: '172.16.20.1', dev: 'net0', table: 'cnf' }),
  cr('CNFRoute', 'on-link', { dst: '10.8.0.5', dev: 'net1' }),
  cr('CNFRouteRule', 'by-hub', { src: '10.1.2.0/24', prio: '1500', table: '40' }),
];
const allApplied = (all: readonly RuleObject[]): Record<string, string> =>
  Object.fromEntries(all.map(({ metadata }) => [metadata.name, 'Applied']));

let openwrt: TestOpenwrt;
let agent: TestPass;
afterEach(async () => {
  await agent.driver.close();
  await openwrt.stop();
});

const start = async (options: OpenwrtOptions = { login: 'mounted' }): Promise<string> => {
  openwrt = await startOpenwrt(options);
  agent = await openPass(openwrt);
  return agent.run(rules);
};

const inKernel = (): string[] => {
  const { nft, routing } = openwrt.simulator;
  return [nft.listed(), ...Object.values(routing.shown()).flat()];
};

describe('what others take out of the kernel is noticed within 5 s, and brought back by one pass', () => {
  const harms: Record<string, () => unknown> = {
    'nft flush ruleset': () => openwrt.simulator.nft.flush(),
    'fw4 stop': () => openwrt.simulator.shell('/sbin/fw4', 'stop'),
    'ip route del, with a gateway': () => openwrt.simulator.routing.remove('10.9.0.0/16'),
    'ip route del, on the link': () => openwrt.simulator.routing.remove('10.8.0.5'),
    'ip rule del': () => openwrt.simulator.routing.remove('10.1.2.0/24'),
    'mwan3 reload': () => openwrt.simulator.shell('/etc/init.d/mwan3', 'reload'),
  };
  it.each(Object.entries(harms))('%s', async (_name, harm) => {
    const left = await start();
    const before = inKernel();
    expect(agent.states()).toEqual(allApplied(rules));
    await harm();
    expect(inKernel()).not.toEqual(before);
    await openwrt.clock.advance(NOTICED_MS);
    expect(await agent.driver.fingerprint(NEVER)).not.toBe(left);
    const after = await agent.run(rules);
    expect(inKernel()).toEqual(before);
    expect(agent.states()).toEqual(allApplied(rules));
    expect(agent.driftRepairs()).toBe(1);
    await openwrt.clock.advance(NOTICED_MS);
    expect(await agent.driver.fingerprint(NEVER)).toBe(after);
  });
});

describe('a single nft rule', () => {
  it('is noticed within a minute when it is of a rule of ours and deleted', async () => {
    const left = await start();
    openwrt.simulator.nft.deleteRule('web');
    await openwrt.clock.advance(61_000);
    expect(await agent.driver.fingerprint(NEVER)).not.toBe(left);
    await agent.run(rules);
    expect(openwrt.simulator.nft.listed()).toContain('!fw4: web');
    expect(agent.driftRepairs()).toBe(1);
  });

  it.each<[string, () => void]>([
    ['is added', () => openwrt.simulator.nft.addRule('tcp dport 99 counter drop')],
    ['is deleted', () => openwrt.simulator.nft.deleteRule('Allow-DHCP-Renew')],
  ])('belongs to others when it %s', async (_what, change) => {
    await start();
    const before = openwrt.simulator.nft.listed();
    change();
    expect(openwrt.simulator.nft.listed()).not.toBe(before);
    await openwrt.clock.advance(61_000);
    await agent.run(rules);
    expect(agent.states()).toEqual(allApplied(rules));
    expect(agent.driftRepairs()).toBe(0);
    expect(agent.transactions()).toEqual(['done']);
  });
});

it('leaves routes and policy rules where they are when an mwan3 rule changes', async () => {
  await start();
  const before = inKernel();
  const more = [...rules, cr('Mwan3Rule', 'dns', { policy: 'default', dest_ip: '9.9.9.9' })];
  await agent.run(more);
  expect(openwrt.simulator.reloads()).toMatchObject({ mwan3: 1 });
  expect(inKernel()).toEqual(before);
  expect(agent.states()).toEqual(allApplied(more));
  expect(agent.driftRepairs()).toBe(0);
});

describe('a route that the kernel refuses', () => {
  const nowhere = cr('CNFRoute', 'nowhere', { dst: '10.7.0.0/16', gw: '192.0.2.1', dev: 'net0' });
  const more = [...rules, nowhere];

  it('is not in force, and its status names it; others are applied', async () => {
    await start();
    await agent.run(more);
    const { nowhere: state, ...others } = agent.states();
    expect(others).toEqual(allApplied(rules));
    expect(state).toBe('Pending: NotInForce');
    expect(agent.reports().find(({ name }) => name === 'nowhere')?.message).toBe(
      'the kernel of OpenWRT lacks the route 10.7.0.0/16 via 192.0.2.1',
    );
  });

  it('is tried again at growing intervals only', async () => {
    await start();
    await agent.run(more);
    const { length } = agent.transactions();
    await agent.run(more);
    expect(agent.transactions()).toHaveLength(length);
    await openwrt.clock.advance(5_000);
    await agent.run(more);
    expect(agent.transactions()).toHaveLength(length + 1);
    await agent.run(more);
    expect(agent.transactions()).toHaveLength(length + 1);
    expect(agent.driftRepairs()).toBe(0);
  });
});

describe('where the login is not the agent’s own', () => {
  it.each(['own', 'stock'] as const)('(%s) in sync means the files', async (login) => {
    const left = await start({ login });
    openwrt.simulator.nft.flush();
    await openwrt.clock.advance(61_000);
    expect(await agent.driver.fingerprint(NEVER)).toBe(left);
    await agent.run(rules);
    expect(agent.states()).toEqual(allApplied(rules));
    const { kernel } = await agent.driver.read(NEVER);
    expect(kernel?.unread).toMatch(login === 'own' ? /OpenWRT has no/ : /may not run/);
  });
});
