/**
 * A change of rules alone is put into force without a reload, and whatever is in doubt by one. The
 * simulator's fw4, nft and helper do as those of a device
 * (test/contract/conformance/amendments.test.ts).
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import type { RuleObject } from '#shared/kube/objects.ts';
import { startOpenwrt, type OpenwrtOptions, type TestOpenwrt } from './support/openwrt.ts';
import { cr, openPass, type TestPass } from './support/pass.ts';

const NEVER = new AbortController().signal;
const QUIET_MS = 61_000;

const web = (name: string, port = '80'): RuleObject =>
  cr('FirewallRule', name, { src: 'lan', proto: 'tcp', dest_port: port, target: 'ACCEPT' });
const rules = [web('a'), web('b'), web('c')];

let openwrt: TestOpenwrt;
let agent: TestPass;
afterEach(async () => {
  await agent.driver.close();
  await openwrt.stop();
});

const start = async (options: OpenwrtOptions = { login: 'mounted' }): Promise<void> => {
  openwrt = await startOpenwrt(options);
  agent = await openPass(openwrt);
  await agent.run(rules);
  expect(ways()).toEqual({ ...WAYS, reloaded: 1 });
};
const ways = () => agent.driver.firewallWays?.();
const WAYS = { amended: 0, reloaded: 0, different: 0 };
const nft = () => openwrt.simulator.nft;
const reloads = () => openwrt.simulator.reloads()['firewall'];
const isApplied = (all: readonly RuleObject[]) =>
  Object.fromEntries(all.map(({ metadata }) => [metadata.name, 'Applied']));

/** Calls of the helper with that verb. */
const refuse = (verb: string) =>
  openwrt.simulator.faults.add({
    object: 'file',
    method: 'exec',
    contains: verb,
    action: { kind: 'status', status: 4 },
  });

/** What is loaded is what a reload would load. */
const expectAsReloaded = async (): Promise<void> => {
  const amended = nft().listed();
  await openwrt.clock.until(openwrt.simulator.shell('/sbin/fw4', 'reload'));
  expect(amended).toBe(nft().listed());
};

describe('without a reload', () => {
  it.each<[string, RuleObject[]]>([
    ['a rule that changes', [web('a'), web('b', '81'), web('c')]],
    ['a rule that comes', [...rules, web('d')]],
    ['a rule that goes', [web('a'), web('c')]],
    ['a burst', [web('a', '81'), web('c', '82'), web('d'), web('e')]],
  ])('%s is in force', async (_what, all) => {
    await start();
    await agent.run(all);
    expect(ways()).toEqual({ ...WAYS, reloaded: 1, amended: 1 });
    expect(reloads()).toBe(1);
    expect(agent.states()).toMatchObject(isApplied(all));
    expect(openwrt.text('firewall')).toContain('sdewan_rule_a');
    await expectAsReloaded();
  });

  it('removes the first rule of a chain, and the last one', async () => {
    const ruleFrom = (name: string, src: object): RuleObject =>
      cr('FirewallRule', name, { ...src, proto: 'tcp', dest_port: '80', target: 'ACCEPT' });
    const all = [ruleFrom('a', {}), ruleFrom('b', { src: '*' }), ruleFrom('c', {})];
    openwrt = await startOpenwrt({ login: 'mounted' });
    agent = await openPass(openwrt);
    await agent.run(all);
    await agent.run(all.slice(1));
    expect(ways()).toEqual({ ...WAYS, reloaded: 1, amended: 1 });
    await expectAsReloaded();
    await agent.run(all.slice(1, 2));
    await expectAsReloaded();
  });

  it('does not transfer the package while it is of the version that it should be', async () => {
    await start();
    openwrt.simulator.faults.add({
      object: 'file',
      method: 'read',
      contains: '/etc/config',
      action: { kind: 'status', status: 9 },
    });
    await agent.run([web('a', '81'), web('b'), web('c')]);
    expect(ways()).toEqual({ ...WAYS, reloaded: 1, amended: 1 });
    openwrt.simulator.faults.clear();
    await expectAsReloaded();
  });

  it('makes each change after the one before', async () => {
    await start();
    for (const port of ['81', '82', '83']) await agent.run([web('a', port), web('b'), web('c')]);
    expect(ways()).toEqual({ ...WAYS, reloaded: 1, amended: 3 });
    expect(nft().listed()).toContain('th dport 83 ');
    await expectAsReloaded();
  });
});

describe('with a reload', () => {
  const changed = [web('a', '81'), web('b'), web('c')];
  it.each<[string, () => unknown]>([
    ['when a rule of the table has gone', () => nft().deleteRule('Allow-Ping')],
    ['when somebody has added a rule to the table', () => nft().addRule('counter drop')],
    ['when the table has been made anew', () => nft().flush()],
    [
      'when somebody has loaded the table anew, and its handles are those of the one before',
      async () => {
        nft().flush();
        for (let loads = 0; loads < 2; loads += 1)
          await openwrt.clock.until(openwrt.simulator.shell('/sbin/fw4', 'reload'));
      },
    ],
    ['when the helper makes no rules', () => refuse('render')],
    ['when the commands fail', () => refuse('amend')],
    [
      'when what the helper answers is lost',
      () =>
        openwrt.simulator.faults.add({
          object: 'file',
          method: 'exec',
          contains: 'amend',
          when: 'after',
          times: 1,
          action: { kind: 'status', status: 9 },
        }),
    ],
    [
      'when an administrator has written the package',
      () => {
        const file = `${openwrt.simulator.configDirectory}/firewall`;
        const text = readFileSync(file, 'utf8');
        expect(text).toContain("'68'");
        writeFileSync(file, text.replace("'68'", "'67'"));
      },
    ],
  ])('%s', async (_what, happen) => {
    await start();
    await happen();
    await openwrt.clock.advance(1_000);
    await agent.converge(changed, { tries: 3, ms: 10_000 });
    expect(ways()?.amended).toBe(0);
    expect(agent.states()).toEqual(isApplied(changed));
    expect(nft().listed()).toContain('th dport 81 ');
    await expectAsReloaded();
  });

  it('begins when the agent has started anew', async () => {
    await start();
    await agent.driver.close();
    agent = await openPass(openwrt);
    await agent.run(changed);
    expect(ways()).toEqual({ ...WAYS, reloaded: 1 });
  });

  it('restores files of an agent that ended before it made the change permanent', async () => {
    await start();
    openwrt.simulator.faults.add({
      object: 'uci',
      method: 'confirm',
      action: { kind: 'reset' },
    });
    await expect(agent.run(changed)).rejects.toThrow('uci confirm');
    expect(ways()).toEqual({ ...WAYS, reloaded: 1, amended: 1 });
    await agent.driver.close();
    openwrt.simulator.faults.clear();
    await openwrt.clock.advance(120_000);
    expect(openwrt.text('firewall')).not.toContain("'81'");
    expect(nft().listed()).toContain('th dport 81 ');
    agent = await openPass(openwrt);
    await agent.run(rules);
    expect(reloads()).toBe(2);
    expect(nft().listed()).not.toContain('th dport 81 ');
    await expectAsReloaded();
  });
});

describe('after a quiet minute the whole ruleset is compared', () => {
  const changed = [web('a', '81'), web('b'), web('c')];

  it('changes nothing when it is the same', async () => {
    await start();
    await agent.run(changed);
    const left = await agent.driver.fingerprint(NEVER);
    await openwrt.clock.advance(QUIET_MS);
    expect(await agent.driver.fingerprint(NEVER)).toBe(left);
    await agent.run([...changed, web('d')]);
    expect(ways()).toEqual({ ...WAYS, reloaded: 1, amended: 2 });
  });

  it('leads to a reload when it differs, and ends changes without one', async () => {
    await start();
    await agent.run(changed);
    const left = await agent.driver.fingerprint(NEVER);
    nft().addRule('counter drop');
    await openwrt.clock.advance(QUIET_MS);
    expect(await agent.driver.fingerprint(NEVER)).not.toBe(left);
    await agent.run(changed);
    expect(reloads()).toBe(2);
    expect(nft().listed()).not.toContain('counter drop');
    expect(agent.states()).toEqual(isApplied(changed));
    await agent.run([...changed, web('d')]);
    expect(ways()).toEqual({ ...WAYS, reloaded: 2, amended: 1, different: 1 });
    await openwrt.clock.advance(QUIET_MS);
    await agent.run([...changed, web('d')]);
    expect(reloads()).toBe(3);
  });
});

it('needs a reload for every change where the login is not the agent’s own', async () => {
  await start({ login: 'own' });
  await agent.run([...rules, web('d')]);
  expect(ways()).toEqual({ ...WAYS, reloaded: 2 });
});
