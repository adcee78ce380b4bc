/**
 * Passes on the simulator: whose sections they touch, what becomes of rules that OpenWRT refuses,
 * and of others' changes.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Program } from '../../openwrt/simulator/programs/runner.ts';
import { startOpenwrt, type TestOpenwrt } from './support/openwrt.ts';
import { cr, firewallRule, openPass, zone, type TestPass } from './support/pass.ts';

let openwrt: TestOpenwrt;
let agent: TestPass;
/** What `fw4 reload` prints, for the package as it is. */
let fw4Says: (names: readonly string[]) => string;

const fw4: Program = () => {
  const names = openwrt.sections('firewall').map(({ name }) => name ?? '');
  return { code: 0, stdout: '', stderr: fw4Says(names) };
};

beforeEach(async () => {
  fw4Says = () => '';
  openwrt = await startOpenwrt({ programs: { '/sbin/fw4': fw4 } });
  agent = await openPass(openwrt);
});
afterEach(async () => {
  await agent.driver.close();
  await openwrt.stop();
});

const ours = (name = 'firewall'): (string | undefined)[] =>
  openwrt
    .sections(name)
    .map((section) => section.name)
    .filter((section) => section?.startsWith('sdewan_'));
const optionOf = (section: string, option: string) =>
  openwrt.sections('firewall').find(({ name }) => name === section)?.options[option];
const manyRules = (count: number) =>
  Array.from({ length: count }, (_, at) => firewallRule(`r${String(at).padStart(4, '0')}`));

describe('whole sets', () => {
  it('are one transaction and one reload for a thousand rules', async () => {
    await agent.run([zone('lan1', 'ovn-net1'), ...manyRules(1_000)]);
    expect(ours()).toHaveLength(1_001);
    expect(openwrt.writes('uci apply')).toBe(1);
    expect(agent.transactions()).toEqual(['done']);
  });

  it('are one transaction for several packages', async () => {
    const policy = cr('Mwan3Policy', 'balance1', {
      members: [{ network: 'ovn-net1', metric: 1, weight: 1 }],
    });
    await agent.run([zone('lan1', 'ovn-net1'), policy]);
    expect(agent.transactions()).toEqual(['done']);
    expect(agent.states()).toEqual({ lan1: 'Applied', balance1: 'Applied' });
    expect(openwrt.simulator.reloads()['mwan3']).toBe(1);
  });

  it('are imported when they have over 3,000 sections, under the rollback of an apply', async () => {
    const adminSections = openwrt.sections('firewall');
    await agent.run([zone('lan1', 'ovn-net1'), ...manyRules(3_500)]);
    expect(ours()).toHaveLength(3_501);
    expect(openwrt.sections('firewall').filter(({ name }) => !name?.startsWith('sdewan_'))).toEqual(
      adminSections,
    );
    expect(openwrt.writes('uci apply')).toBe(1);
    const imports = openwrt.simulator
      .journal()
      .filter((entry) => entry.event === 'write' && entry.by.call.includes('import'));
    expect(imports).toHaveLength(1);
  });

  it('are read back as they were written with text of any script, across block borders', async () => {
    // Only firewall3 takes a rule with any text in it.
    writeFileSync(join(openwrt.simulator.rootDirectory, 'etc/init.d/firewall'), 'fw3 reload\n');
    const rules = Array.from({ length: 900 }, (_, at) =>
      firewallRule(`r${at}`, {
        src_ip: `10.0.${at % 200}.0/24`,
        extra: `漢字 Grüße 😀 ${'ü'.repeat(at % 97)}`,
      }),
    );
    await agent.run([zone('lan1', 'ovn-net1'), ...rules]);
    expect(new Set(Object.values(agent.states()))).toEqual(new Set(['Applied']));
    expect(await agent.converge([zone('lan1', 'ovn-net1'), ...rules])).toMatchObject({ tries: 1 });
    expect(agent.transactions()).toEqual(['done']);
  });
});

describe('whose sections', () => {
  it('are repaired when an administrator changes ours, and counted', async () => {
    const rules = [zone('lan1', 'ovn-net1'), firewallRule('a')];
    await agent.run(rules);
    openwrt.write(
      'firewall',
      openwrt.text('firewall').replace("option dest_port '80'", "option dest_port '8080'"),
    );
    await agent.run(rules);
    expect(optionOf('sdewan_rule_a', 'dest_port')).toBe('80');
    expect(agent.driftRepairs()).toBe(1);
  });

  it('are not ours stay, whatever we do beside them', async () => {
    const before = openwrt.sections('firewall');
    await agent.run([zone('lan1', 'ovn-net1'), firewallRule('a')]);
    await agent.run([]);
    expect(openwrt.sections('firewall')).toEqual(before);
  });

  it('have the name of a policy is decided by the ledger, also after a restart of the agent', async () => {
    const taken = cr('Mwan3Policy', 'admin_only', {
      members: [{ network: 'ovn-net1', metric: 1, weight: 1 }],
    });
    const free = cr('Mwan3Policy', 'balance1', {
      members: [{ network: 'ovn-net1', metric: 1, weight: 1 }],
    });
    await agent.run([taken, free]);
    expect(agent.states()).toEqual({ admin_only: 'Failed: NameTaken', balance1: 'Applied' });
    const restarted = await openPass(openwrt);
    await restarted.run([]);
    const names = openwrt.sections('mwan3').map(({ name }) => name);
    expect(names).toContain('admin_only');
    expect(names).not.toContain('balance1');
    await restarted.driver.close();
  });
});

describe('a rule that OpenWRT leaves out', () => {
  const complaint =
    "[!] Section sdewan_rule_bad (bad) option 'src_ip' specifies invalid value\n[!] Section sdewan_rule_bad (bad) skipped due to invalid options\n";

  it('is Failed in its words, the others are Applied, and it is known after a restart', async () => {
    fw4Says = (names) => (names.includes('sdewan_rule_bad') ? complaint : '');
    const rules = [zone('lan1', 'ovn-net1'), firewallRule('bad'), firewallRule('good')];
    await agent.run(rules);
    expect(agent.states()).toEqual({
      lan1: 'Applied',
      bad: 'Failed: RefusedByOpenwrt',
      good: 'Applied',
    });
    const restarted = await openPass(openwrt);
    await restarted.run(rules);
    expect(restarted.states()['bad']).toBe('Failed: RefusedByOpenwrt');
    await restarted.driver.close();
  });

  it('goes back to its last good spec', async () => {
    const good = [zone('lan1', 'ovn-net1'), firewallRule('bad', { dest_port: '1' })];
    await agent.run(good);
    fw4Says = () => (optionOf('sdewan_rule_bad', 'dest_port') === '2' ? complaint : '');
    await agent.run([
      zone('lan1', 'ovn-net1'),
      firewallRule('bad', { dest_port: '2' }, { generation: 2 }),
    ]);
    expect(optionOf('sdewan_rule_bad', 'dest_port')).toBe('1');
    expect(agent.states()['bad']).toBe('Failed: RefusedByOpenwrt');
    expect(agent.reports().find(({ name }) => name === 'bad')?.generationInForce).toBe(1);
  });
});

describe('a set that OpenWRT refuses', () => {
  it('is applied without the rule that it names', async () => {
    fw4Says = (names) =>
      names.includes('sdewan_rule_bad')
        ? '/dev/stdin:1:1: Error: no such thing\n\t\tx comment "!fw4: bad"\n'
        : '';
    await agent.run([zone('lan1', 'ovn-net1'), firewallRule('bad'), ...manyRules(20)]);
    expect(agent.states()['bad']).toBe('Failed: RefusedByOpenwrt');
    expect(ours()).toHaveLength(21);
    expect(agent.transactions()).toEqual(['rejected', 'done']);
  });

  it('is searched by halving when it names none, and applied without the refused ones', async () => {
    const guilty = new Set(['sdewan_rule_r0003', 'sdewan_rule_r0031']);
    fw4Says = (names) => (names.some((name) => guilty.has(name)) ? 'Error: nft says no\n' : '');
    const rules = [zone('lan1', 'ovn-net1'), ...manyRules(40)];
    await agent.run(rules);
    expect(ours()).toHaveLength(39);
    const failed = agent
      .reports()
      .filter(({ state }) => state === 'Failed')
      .map(({ name }) => name);
    expect(failed).toEqual(['r0003', 'r0031']);
    expect(agent.transactions().length).toBeLessThan(24);
    expect(await agent.converge(rules)).toMatchObject({ tries: 1 });
    expect(agent.transactions().at(-1)).toBe('done');
  });

  it('blames no rule when it has none of ours, and nothing stays written', async () => {
    fw4Says = () => 'Error: an administrator did it\n';
    const before = openwrt.text('firewall');
    await agent.run([zone('lan1', 'ovn-net1'), firewallRule('a')]);
    expect(openwrt.text('firewall')).toBe(before);
    expect(agent.reports()).toMatchObject(
      ['lan1', 'a'].map((name) => ({
        name,
        reason: 'WaitingForPackage',
        message:
          'OpenWRT refuses /etc/config/firewall even without a change by the agent: Error: an administrator did it',
      })),
    );
  });
});

describe('a package that is not as it should be', () => {
  it('does not parse: is left alone, named in the reports, and other packages go on', async () => {
    openwrt.write('firewall', "config zone\n\toption name 'open\n");
    const policy = cr('Mwan3Policy', 'balance1', {
      members: [{ network: 'ovn-net1', metric: 1, weight: 1 }],
    });
    await agent.run([zone('lan1', 'ovn-net1'), policy]);
    expect(agent.states()).toEqual({ lan1: 'Pending: WaitingForPackage', balance1: 'Applied' });
    expect(agent.reports()[0]?.message).toContain('does not parse');
    expect(openwrt.simulator.reloads()['firewall']).toBeUndefined();
  });

  it('has no defaults section: is never reloaded, since everything would be dropped', async () => {
    openwrt.write('firewall', "config zone\n\toption name 'lan'\n");
    await agent.run([zone('lan1', 'ovn-net1')]);
    expect(agent.states()).toEqual({ lan1: 'Pending: WaitingForPackage' });
    expect(agent.reports()[0]?.message).toContain('no defaults');
  });
});
