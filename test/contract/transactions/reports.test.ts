/**
 * Whatever call fails: at the moment at which the agent says so, a rule that is Applied is in
 * force, and one that is Removed is gone.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Fault } from '../../openwrt/simulator/faults.ts';
import { firstCall, STRIDE } from '../each-call.ts';
import { deleted, firewallRule, mwan3Rule, policy, zone } from './rules.ts';
import { dieAt, PATHS, startFixture, type Fixture } from './fixture.ts';

const common = [zone, firewallRule('stays', '1'), policy('balance'), mwan3Rule('web', '80')];
const before = [...common, firewallRule('changes', '2'), firewallRule('goes', '3'), policy('old')];
const after = [
  ...common,
  firewallRule('changes', '20', 2),
  firewallRule('comes', '4'),
  deleted(firewallRule('goes', '3')),
  deleted(policy('old')),
];
const WANTED = {
  lan1: 'Applied',
  stays: 'Applied',
  balance: 'Applied',
  web: 'Applied',
  changes: 'Applied',
  comes: 'Applied',
  goes: 'Removed',
  old: 'Removed',
};
const LEAST_CALLS = 8;

const FAULTS: Record<string, Pick<Fault, 'action' | 'when'>> = {
  'is executed and its answer lost': { action: { kind: 'reset' }, when: 'after' },
  'answers a ubus error': { action: { kind: 'status', status: 9 } },
  'restarts OpenWRT with its factory configuration': { action: { kind: 'restart' } },
};

describe.each(PATHS)('on the %s path', (path) => {
  let fixture: Fixture;
  beforeEach(async () => {
    fixture = await startFixture(path);
  });
  afterEach(() => fixture.stop());

  const expectTrue = (states: Record<string, string>, when: string): void => {
    expect({ when, states, lies: fixture.lies() }).toEqual({ when, states: WANTED, lies: [] });
  };

  it.each(Object.entries(FAULTS))('reports are true when a call %s', async (what, fault) => {
    const { faults } = fixture.simulator;
    let calls = firstCall(Object.keys(FAULTS).indexOf(what));
    for (let hit = true; hit; calls += STRIDE) {
      const agent = await fixture.open();
      await agent.converge(before);
      faults.add({ ...fault, skip: calls, times: 1 });
      await agent.converge(after);
      hit = faults.list().length === 0;
      faults.clear();
      expectTrue(agent.states(), `call ${calls}`);
    }
    expect(calls).toBeGreaterThan(LEAST_CALLS);
  });

  it('reports of the next agent are true, whatever call was the last of one that was killed', async () => {
    let calls = firstCall(PATHS.indexOf(path));
    for (let died = true; died; calls += STRIDE) {
      const killed = await fixture.open();
      await killed.converge(before);
      died = await dieAt(fixture, calls, () => killed.pass(after));
      const next = await fixture.open();
      await next.pass(after);
      expectTrue(next.states(), `a death at call ${calls}`);
    }
    expect(calls).toBeGreaterThan(LEAST_CALLS);
  });
});
