/**
 * What mwan3 has in the kernel of what rules say: what is missing is reported and comes back, and a
 * rule that keeps others out is left out.
 */
import { afterEach, describe, expect, it } from 'vitest';
import type { RuleObject } from '#shared/kube/objects.ts';
import { startOpenwrt, type TestOpenwrt } from './support/openwrt.ts';
import { cr, openPass, type TestPass } from './support/pass.ts';

const NEVER = new AbortController().signal;
/** mwan3's chains are compared once a minute. */
const NOTICED_MS = 61_000;

const rules: readonly RuleObject[] = [
  cr('Mwan3Policy', 'both', {
    members: [
      { network: 'ovn-net1', metric: 1, weight: 1 },
      { network: 'ovn-net2', metric: 2, weight: 1 },
    ],
  }),
  cr('Mwan3Rule', 'web', { policy: 'both', proto: 'tcp', dest_port: '80 443' }),
  cr('Mwan3Rule', 'six', { policy: 'unreachable', dest_ip: '2001:db8::/32' }),
];
const sticky = (flag: 0 | 1): RuleObject =>
  cr('Mwan3Rule', 'kept', { policy: 'both', proto: 'udp', sticky: flag }, { generation: flag + 1 });
const allApplied = (all: readonly RuleObject[]): Record<string, string> =>
  Object.fromEntries(all.map(({ metadata }) => [metadata.name, 'Applied']));

let openwrt: TestOpenwrt;
let agent: TestPass;
afterEach(async () => {
  await agent.driver.close();
  await openwrt.stop();
});

const start = async (all = rules): Promise<string> => {
  openwrt = await startOpenwrt({ login: 'mounted' });
  agent = await openPass(openwrt);
  return agent.run(all);
};
const messageOf = (name: string): string | undefined =>
  agent.reports().find((report) => report.name === name)?.message;
const reload = () => openwrt.simulator.shell('/etc/init.d/mwan3', 'reload');

describe('what others take out of mwan3’s chains', () => {
  it.each([
    ['all rules', '-A mwan3_rules'],
    ['one rule', '--dports 80,443'],
    ['the members of a policy', 'mwan3_policy_both -m mark'],
  ])('is noticed within a minute, and comes back: %s', async (_what, words) => {
    const left = await start();
    const { mwan3 } = openwrt.simulator;
    const before = mwan3.shown();
    expect(agent.states()).toEqual(allApplied(rules));
    mwan3.remove(words);
    expect(mwan3.shown()).not.toBe(before);
    await openwrt.clock.advance(NOTICED_MS);
    expect(await agent.driver.fingerprint(NEVER)).not.toBe(left);
    await agent.run(rules);
    expect(mwan3.shown()).toBe(before);
    expect(agent.states()).toEqual(allApplied(rules));
    expect(agent.driftRepairs()).toBe(1);
  });
});

it('finds no difference in an uplink that goes down, and comes up again', async () => {
  const left = await start();
  const { mwan3 } = openwrt.simulator;
  for (const [uplink, isOnline] of [
    ['net1', false],
    ['net2', false],
    ['net1', true],
  ] as const) {
    const before = mwan3.shown();
    mwan3.setOnline(uplink, isOnline);
    expect(mwan3.shown()).not.toBe(before);
    await openwrt.clock.advance(NOTICED_MS);
    expect(await agent.driver.fingerprint(NEVER)).toBe(left);
    await agent.run(rules);
    expect(agent.states()).toEqual(allApplied(rules));
  }
  expect(agent.driftRepairs()).toBe(0);
  expect(agent.transactions()).toEqual(['done']);
});

describe('a rule that keeps all rules out of the kernel', () => {
  it('is left out, with the words of iptables, and is not tried again; the others are in force', async () => {
    await start([]);
    openwrt.simulator.mwan3.hasSets = false;
    const all = [...rules, sticky(1)];
    await agent.run(all);
    expect(agent.states()).toEqual({ ...allApplied(rules), kept: 'Failed: RefusedByOpenwrt' });
    expect(messageOf('kept')).toContain("Set mwan3_rule_ipv4_kept doesn't exist.");
    expect(openwrt.simulator.mwan3.shown()).toContain('--dports 80,443');
    const { length } = agent.transactions();
    await openwrt.clock.advance(240_000);
    await agent.run(all);
    expect(agent.transactions()).toHaveLength(length);
    const changed = [...rules, sticky(0)];
    await agent.run(changed);
    expect(agent.states()).toEqual(allApplied(changed));
  });

  it('stays as it last was right', async () => {
    await start([...rules, sticky(0)]);
    openwrt.simulator.mwan3.hasSets = false;
    await agent.run([...rules, sticky(1)]);
    expect(agent.states()).toEqual({ ...allApplied(rules), kept: 'Failed: RefusedByOpenwrt' });
    expect(openwrt.simulator.mwan3.shown()).toContain('-p udp -m mark');
  });

  it('is found when the kernel loses what it needs', async () => {
    const all = [...rules, sticky(1)];
    await start(all);
    expect(agent.states()).toEqual(allApplied(all));
    openwrt.simulator.mwan3.hasSets = false;
    await reload();
    await openwrt.clock.advance(NOTICED_MS);
    await agent.run(all);
    expect(agent.states()).toEqual({ ...allApplied(rules), kept: 'Failed: RefusedByOpenwrt' });
    expect(openwrt.simulator.mwan3.shown()).toContain('--dports 80,443');
  });

  it('is named by the others where it is an administrator’s, and stays theirs', async () => {
    await start();
    const before = openwrt.text('mwan3');
    const ports = [...Array(16).keys()].map((port) => port + 1).join(',');
    const theirs = `\nconfig rule 'many'\n\toption use_policy 'admin_only'\n\toption proto 'tcp'\n\toption dest_port '${ports}'\n`;
    openwrt.write('mwan3', before + theirs);
    await reload();
    await openwrt.clock.advance(NOTICED_MS);
    await agent.run(rules);
    expect(agent.states()).toMatchObject({ both: 'Applied', web: 'Pending: NotInForce' });
    expect(messageOf('web')).toContain('because of section many: too many ports specified');
    expect(openwrt.text('mwan3')).toContain("config rule 'many'");
    openwrt.write('mwan3', openwrt.text('mwan3').replace(`dest_port '${ports}'`, "dest_port '1'"));
    await reload();
    await openwrt.clock.advance(NOTICED_MS);
    await agent.run(rules);
    expect(agent.states()).toEqual(allApplied(rules));
  });
});

it('refuses a rule that mwan3 makes nothing of in mwan3’s own words', async () => {
  await start([]);
  const mixed = cr('Mwan3Rule', 'mixed', { policy: 'both', src_ip: '10.0.0.1', family: 'ipv6' });
  await agent.run([...rules, mixed]);
  expect(agent.states()).toEqual({ ...allApplied(rules), mixed: 'Failed: RefusedByOpenwrt' });
  expect(messageOf('mixed')).toContain('invalid ipv6 address 10.0.0.1 specified for rule mixed');
});

it('ports from one to the same are that port, which iptables would refuse as a range', async () => {
  const one = cr('Mwan3Rule', 'one', { policy: 'both', proto: 'tcp', dest_port: '90-90 95' });
  await start([...rules, one]);
  expect(agent.states()).toEqual(allApplied([...rules, one]));
  expect(openwrt.simulator.mwan3.shown()).toContain('--dports 90,95');
});
