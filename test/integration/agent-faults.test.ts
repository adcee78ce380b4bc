/** Whatever call fails, and wherever the agent is killed: what follows ends right, and no service is left behind its file. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RuleObject } from '#shared/kube/objects.ts';
import type { Fault } from '../openwrt-simulator/faults.ts';
import { startOpenwrt, type TestOpenwrt } from './support/openwrt.ts';
import { firewallRule, openPass, zone } from './support/pass.ts';

let openwrt: TestOpenwrt;

const before: RuleObject[] = [
  zone('lan1', 'ovn-net1'),
  firewallRule('stays', { dest_port: '1' }),
  firewallRule('changes', { dest_port: '2' }),
  firewallRule('goes', { dest_port: '3' }),
];
const after: RuleObject[] = [
  ...before.filter(({ metadata }) => ['lan1', 'stays'].includes(metadata.name)),
  firewallRule('changes', { dest_port: '20' }, { generation: 2 }),
  firewallRule('comes', { dest_port: '4' }),
];
const wanted = [
  'sdewan_zone_lan1',
  'sdewan_rule_changes',
  'sdewan_rule_comes',
  'sdewan_rule_stays',
];

beforeEach(async () => {
  openwrt = await startOpenwrt({ speed: 60 });
  await (await openPass(openwrt)).run(before);
});
afterEach(() => openwrt.stop());

const ours = (): (string | undefined)[] =>
  openwrt
    .sections('firewall')
    .map(({ name }) => name)
    .filter((name) => name?.startsWith('sdewan_'));
const foreign = () =>
  openwrt.sections('firewall').filter(({ name }) => !name?.startsWith('sdewan_'));
const portOf = (name: string) =>
  openwrt.sections('firewall').find((section) => section.name === name)?.options['dest_port'];

/** The firewall was reloaded after the last change of its file. */
const isReloaded = (): boolean => {
  const events = openwrt.simulator.journal();
  const lastWrite = events.findLastIndex(
    (entry) => entry.event === 'write' && entry.package === 'firewall',
  );
  return events
    .slice(lastWrite)
    .some((entry) => entry.event === 'reload' && entry.service === 'firewall');
};

const expectRight = (adminSections: unknown): void => {
  expect(ours()).toEqual(wanted);
  expect(portOf('sdewan_rule_changes')).toBe('20');
  expect(foreign()).toEqual(adminSections);
};

const actions: Record<string, Pick<Fault, 'action' | 'when'>> = {
  'is reset before it is carried out': { action: { kind: 'reset' } },
  'is carried out and its answer lost': { action: { kind: 'reset' }, when: 'after' },
  'answers a ubus error': { action: { kind: 'status', status: 9 } },
  'finds the session gone': {
    action: { kind: 'error', error: 'access' },
  },
  'kills rpcd': { action: { kind: 'rpcd dies' } },
  'restarts OpenWRT with its factory configuration': { action: { kind: 'restart' } },
};

describe.each(Object.entries(actions))('when a call %s', (_what, fault) => {
  it('converges, whichever call it is', async () => {
    const adminSections = foreign();
    let calls = 0;
    for (let skip = 0; ; skip += 1) {
      const agent = await openPass(openwrt);
      await agent.converge(before);
      openwrt.simulator.faults.add({ ...fault, skip, times: 1 });
      await agent.converge(after);
      const hit = openwrt.simulator.faults.list().length === 0;
      openwrt.simulator.faults.clear();
      expectRight(adminSections);
      expect(isReloaded(), `reloaded after call ${skip}`).toBe(true);
      expect(agent.states()).toEqual({
        lan1: 'Applied',
        stays: 'Applied',
        changes: 'Applied',
        comes: 'Applied',
      });
      await agent.driver.close();
      if (hit) continue;
      calls = skip;
      break;
    }
    expect(calls).toBeGreaterThan(8);
  });
});

describe('an agent killed in a transaction', () => {
  it('leaves nothing that the next one does not mend, whatever call was the last', async () => {
    const adminSections = foreign();
    let calls = 0;
    for (let skip = 0; ; skip += 1) {
      const settled = await openPass(openwrt);
      await settled.converge(before);
      await settled.driver.close();

      const killed = await openPass(openwrt);
      const death = new AbortController();
      const off = openwrt.simulator.faults.add({ skip, times: 1, action: { kind: 'hang' } });
      const poll = setInterval(() => {
        if (openwrt.simulator.faults.list().length === 0) death.abort(new Error('killed'));
      }, 1);
      const survived = await killed.run(after, death.signal).then(
        () => true,
        () => false,
      );
      clearInterval(poll);
      off();

      const next = await openPass(openwrt);
      await next.converge(after);
      expectRight(adminSections);
      expect(isReloaded(), `reloaded after a death at call ${skip}`).toBe(true);
      await next.driver.close();
      if (!survived) continue;
      calls = skip;
      break;
    }
    expect(calls).toBeGreaterThan(8);
  });
});
