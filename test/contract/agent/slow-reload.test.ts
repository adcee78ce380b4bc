/**
 * A CNF whose `fw4 reload` takes longer than rpcd's usual timer of an apply: the agent must not
 * have its own work undone.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { startOpenwrt, type OpenwrtOptions, type TestOpenwrt } from './support/openwrt.ts';
import { firewallRule, openPass, zone, type TestPass } from './support/pass.ts';

const SLOW_MS = 90_000;
const rules = (port: string, more: object = {}) => [
  zone('lan1', 'ovn-net1'),
  firewallRule('web', { dest_port: port, ...more }),
];

let openwrt: TestOpenwrt;
let agent: TestPass;
const start = async (options: OpenwrtOptions): Promise<void> => {
  openwrt = await startOpenwrt({ reloadMs: SLOW_MS, ...options });
  agent = await openPass(openwrt);
};
afterEach(async () => {
  await agent.driver.close();
  await openwrt.stop();
});

const reloads = (): number => openwrt.simulator.reloads()['firewall'] ?? 0;
const applied = (): number => openwrt.writes('uci apply') - openwrt.writes('uci apply (rollback)');

describe('where OpenWRT waits for the end of a reload', () => {
  it('converges in one round after a reload of 90 s, also when the next one comes', async () => {
    await start({ execTimeoutMs: 600_000 });
    for (const port of ['80', '81']) {
      const before = { reloads: reloads(), applied: applied() };
      expect(await agent.converge(rules(port), { tries: 1, ms: SLOW_MS + 5_000 })).toMatchObject({
        tries: 1,
      });
      expect(agent.states()).toEqual({ lan1: 'Applied', web: 'Applied' });
      expect(openwrt.text('firewall')).toContain(`option dest_port '${port}'`);
      expect(openwrt.simulator.firewall().sections).toContain('sdewan_rule_web');
      expect(reloads() - before.reloads).toBe(1);
      expect(applied() - before.applied).toBe(1);
    }
  });

  it('removes a rule again that is refused after so long, although it had to be made permanent before', async () => {
    const fw4 = async () => {
      await openwrt.clock.agent.sleep(SLOW_MS);
      const isBad = openwrt.text('firewall').includes('sdewan_rule_bad');
      const stderr = isBad ? 'x: Error: no such thing\n\tcomment "!fw4: bad"\n' : '';
      return { code: 0, stdout: '', stderr };
    };
    await start({ execTimeoutMs: 600_000, programs: { '/sbin/fw4': fw4 } });
    const all = [...rules('80'), firewallRule('bad', { dest_port: '1' })];
    // After an undo section by section the file is another one than before, so it is read again.
    await agent.converge(all, { tries: 2, ms: 3 * SLOW_MS + 10_000 });
    expect(agent.states()).toEqual({
      lan1: 'Applied',
      web: 'Applied',
      bad: 'Failed: RefusedByOpenwrt',
    });
    expect(agent.transactions()).toEqual(['rejected', 'done']);
    expect(openwrt.text('firewall')).not.toContain('sdewan_rule_bad');
    await openwrt.clock.advance(600_000);
    expect(openwrt.text('firewall')).toContain('sdewan_rule_web');
  });
});

it('keeps what was written where OpenWRT gives up on a reload, and the rule says what to raise', async () => {
  await start({});
  await expect(agent.run(rules('80'))).rejects.toThrow('raise option timeout of rpcd');
  await openwrt.clock.advance(120_000);
  expect(openwrt.text('firewall')).toContain("option dest_port '80'");
  expect(agent.states()).toMatchObject({ web: 'Pending: Applying' });
});
