/**
 * Another client writes the package that the agent is changing, at each moment of it, by each way
 * that there is. What it wrote is there in the end, and so is what the rules say.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { firewallRule } from '../agent/support/pass.ts';
import type { Program } from '../../openwrt/simulator/programs/runner.ts';
import type { TestOpenwrt } from '../agent/support/openwrt.ts';
import { AFTER, openBench, OURS, RELOAD_MS, type Bench } from './bench.ts';

let bench: Bench;
afterEach(() => bench.stop());

const admin = expect.objectContaining({ name: 'admin' });

const ALL_APPLIED = ['Applied', 'Applied', 'Applied'];
const HANDS = { 'by the uci command': 'byShell', 'with an editor': 'byEditor' } as const;

describe.each(Object.entries(HANDS))('what an administrator writes %s', (_, by) => {
  it('is kept, and so are the rules, at any moment of a pass', async () => {
    bench = await openBench();
    const { clock, agent, converge, again, together, ours, foreign } = bench;
    const others = foreign();
    await again();
    const end = await together(converge(AFTER));
    expect(end).toBeGreaterThan(10);
    for (let atMs = 0.5; atMs < end; atMs += 1) {
      await again();
      await together(converge(AFTER), clock.agent.sleep(atMs).then(bench[by]));
      await together(converge(AFTER));
      expect(ours(), `after ${atMs} ms`).toEqual(OURS);
      expect(foreign(), `after ${atMs} ms`).toEqual([...others, admin]);
      expect(Object.values(agent.states())).toEqual(ALL_APPLIED);
    }
  });
});

describe.each(['own', 'stock'] as const)('with login %s, what others change of ours', (login) => {
  it('is repaired, and no rule is blamed, at any moment of a pass', async () => {
    bench = await openBench(() => ({ login }));
    const { clock, openwrt, agent, converge, again, together, ours } = bench;
    const WRITTEN = "option dest_port '4'";
    let changed = 0;
    const change = async (): Promise<void> => {
      const text = openwrt.text('firewall');
      if (!text.includes(WRITTEN)) return;
      changed += 1;
      await openwrt.simulator.edit('firewall', text.replace(WRITTEN, "option dest_port '5'"));
    };
    await again();
    const end = await together(converge(AFTER));
    const before = agent.transactions().length;
    for (let atMs = 0.5; atMs < end; atMs += 1) {
      await again();
      await together(converge(AFTER), clock.agent.sleep(atMs).then(change));
      await together(converge(AFTER));
      expect(ours(), `after ${atMs} ms`).toEqual(OURS);
      expect(openwrt.text('firewall'), `after ${atMs} ms`).toContain(WRITTEN);
      expect(Object.values(agent.states()), `after ${atMs} ms`).toEqual(ALL_APPLIED);
    }
    expect(changed).toBeGreaterThan(0);
    expect(agent.transactions().slice(before)).toContain('rejected');
  });
});

describe('a change that OpenWRT refuses as a whole', () => {
  it('is undone without what an administrator wrote since', async () => {
    const stderr = '/dev/stdin:1:1: Error: no\n\t\tx comment "!fw4: refused"\n';
    const refusing =
      (openwrt: () => TestOpenwrt): Program =>
      async () => {
        const isRefused = openwrt().text('firewall').includes('sdewan_rule_refused');
        await openwrt().clock.agent.sleep(RELOAD_MS);
        return { code: 0, stdout: '', stderr: isRefused ? stderr : '' };
      };
    bench = await openBench((openwrt) => ({ programs: { '/sbin/fw4': refusing(openwrt) } }));
    const { clock, agent, converge, again, together, ours, foreign, byShell, wasUndoneBy } = bench;
    const others = foreign();
    // What was refused once is not tried again.
    const rules = (port: number) => [...AFTER, firewallRule('refused', { dest_port: `${port}` })];
    await again();
    const end = await together(converge(rules(1)));
    expect(agent.transactions()).toContain('rejected');
    let undone = 0;
    for (let atMs = 0.5; atMs < end; atMs += 1) {
      await again();
      const refused = rules(100 + atMs * 2);
      await together(converge(refused), clock.agent.sleep(atMs).then(byShell));
      await together(converge(refused));
      expect(ours(), `after ${atMs} ms`).toEqual(OURS);
      const wasUndone = wasUndoneBy('uci rollback');
      undone += wasUndone ? 1 : 0;
      const wanted = wasUndone ? others : [...others, admin];
      expect(foreign(), `after ${atMs} ms`).toEqual(wanted);
    }
    expect(undone).toBeLessThanOrEqual(1);
  });
});

describe('two commits at once, of which libuci loses one', () => {
  it('lose no rule, and no rule is blamed', async () => {
    bench = await openBench(() => ({ writeMsPerKilobyte: 1 }));
    const { clock, agent, converge, again, together, ours, byShell } = bench;
    await again();
    const end = await together(converge(AFTER));
    for (let atMs = 0.5; atMs < end; atMs += 1) {
      await again();
      await together(converge(AFTER), clock.agent.sleep(atMs).then(byShell));
      await together(converge(AFTER));
      expect(ours(), `after ${atMs} ms`).toEqual(OURS);
      expect(agent.transactions(), `after ${atMs} ms`).not.toContain('rejected');
    }
  });
});
