/**
 * Comments in OpenWRT's files are lost by the first write, as by any `uci commit`. The ledger says
 * of which packages that was us, once for each: not when the write was undone, and also when the
 * agent died before it could see the end of it.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import * as z from 'zod';
import type { Program } from '../openwrt/simulator/programs/runner.ts';
import { startOpenwrt, type TestOpenwrt } from './agent/support/openwrt.ts';
import { cr, firewallRule, openPass, zone, type TestPass } from './agent/support/pass.ts';

const COMMENT = "# by order of the administrator: '22' stays open";
const RULES = [zone('lan1', 'ovn-net1'), firewallRule('a')];
const POLICY = cr('Mwan3Policy', 'balance1', {
  members: [{ network: 'ovn-net1', metric: 1, weight: 1 }],
});
const CONFIRM = { object: 'uci', method: 'confirm', times: 1 } as const;
const RESET = { kind: 'reset' } as const;

let openwrt: TestOpenwrt;
let agents: TestPass[];
let agent: TestPass;
/** The section that `fw4 reload` refuses the whole set for. */
let refused: string | undefined;

const fw4: Program = () => {
  const isRefused = openwrt.sections('firewall').some(({ name }) => name && name === refused);
  const stderr = `/dev/stdin:1:1: Error: no such thing\n\t\tx comment "!fw4: lan1"\n`;
  return { code: 0, stdout: '', stderr: isRefused ? stderr : '' };
};

beforeEach(async () => {
  refused = undefined;
  openwrt = await startOpenwrt({ programs: { '/sbin/fw4': fw4 } });
  agents = [];
  agent = await startAgent();
  for (const name of ['firewall', 'mwan3']) comment(name);
});
afterEach(async () => {
  openwrt.simulator.faults.clear();
  await Promise.all(agents.map(({ driver }) => driver.close()));
  await openwrt.stop();
});

const startAgent = async (): Promise<TestPass> => {
  const started = await openPass(openwrt);
  agents.push(started);
  return started;
};
const comment = (name: string): void => openwrt.write(name, `${COMMENT}\n${openwrt.text(name)}`);
const hasComment = (name: string): boolean => openwrt.text(name).includes(COMMENT);

const ledgerSchema = z.object({ comments: z.object({ lost: z.array(z.string()) }) });
const lost = (): string[] =>
  ledgerSchema.parse(JSON.parse(readFileSync(join(openwrt.folder, 'ledger.json'), 'utf8'))).comments
    .lost;

it('are lost in a package that is written, and stay in one that is not', async () => {
  await agent.run(RULES);
  expect([hasComment('firewall'), hasComment('mwan3')]).toEqual([false, true]);
  expect(lost()).toEqual(['firewall']);
  await agent.run([...RULES, POLICY]);
  expect(lost()).toEqual(['firewall', 'mwan3']);
});

it('are lost once for each package, also for the next agent and when there are new ones', async () => {
  await agent.run(RULES);
  comment('firewall');
  await agent.run([...RULES, firewallRule('b')]);
  comment('firewall');
  await (await startAgent()).run(RULES);
  expect(hasComment('firewall')).toBe(false);
  expect(lost()).toEqual(['firewall']);
});

it('stay where nothing is written', async () => {
  await agent.run([]);
  expect(hasComment('firewall')).toBe(true);
});

it('stay, and are not reported as lost, when OpenWRT refuses the change', async () => {
  refused = 'sdewan_zone_lan1';
  await agent.run([zone('lan1', 'ovn-net1')]);
  expect(agent.states()).toEqual({ lan1: 'Failed: RefusedByOpenwrt' });
  expect(hasComment('firewall')).toBe(true);
  await (await startAgent()).run([]);
  expect(lost()).toEqual([]);
});

it('are reported as lost by the next agent, where the one that wrote died before it saw the end', async () => {
  openwrt.simulator.faults.add({ ...CONFIRM, when: 'after', action: RESET });
  await expect(agent.run(RULES)).rejects.toThrow(/./);
  expect(lost()).toEqual([]);
  await (await startAgent()).run(RULES);
  expect(lost()).toEqual(['firewall']);
});

it('stay, where the one that wrote died before the change was permanent and the rules have gone since', async () => {
  openwrt.simulator.faults.add({ ...CONFIRM, when: 'before', action: RESET });
  await expect(agent.run(RULES)).rejects.toThrow(/./);
  expect(hasComment('firewall')).toBe(false);
  const next = await startAgent();
  await next.run([]);
  expect(hasComment('firewall')).toBe(true);
  expect(lost()).toEqual([]);
});

it('are not reported as lost when an administrator has removed them', async () => {
  openwrt.write('firewall', openwrt.text('firewall').replaceAll(/^\s*#.*\n/gm, ''));
  await agent.run(RULES);
  expect(lost()).toEqual([]);
});
