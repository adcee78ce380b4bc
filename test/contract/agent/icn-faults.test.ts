/**
 * Whatever call of ICN's REST fails, and wherever the agent is killed: the next pass converges, in
 * the files and in the kernel.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RuleObject } from '#shared/kube/objects.ts';
import type { Fault } from '../../openwrt/simulator/faults.ts';
import { firstCall, STRIDE } from '../each-call.ts';
import { AFTER_ONE_FAILURE } from './support/converge.ts';
import { filesOf, icnDriver, kernelOf, startIcn } from './support/icn-rest.ts';
import type { TestOpenwrt } from './support/openwrt.ts';
import { cr, firewallRule, openPass, zone, type TestPass } from './support/pass.ts';

const nat = (name: string, options: object): RuleObject =>
  cr('CNFNAT', name, { target: 'SNAT', src_dip: '172.16.30.10', dest: 'net1', ...options });
const networkRule = (name: string, options: object): RuleObject =>
  cr('NetworkFirewallRule', name, { src: 'net1', proto: 'tcp', target: 'DROP', ...options });
const policy = cr('Mwan3Policy', 'p', { members: [{ network: 'ovn-net1', metric: 1, weight: 1 }] });

const before: RuleObject[] = [
  zone('lan1', 'ovn-net1'),
  firewallRule('changes', { dest_port: '2' }),
  firewallRule('goes', { dest_port: '3' }),
  nat('nat-changes', { src_ip: '10.1.0.0/16' }),
  networkRule('net-goes', { dest_port: 22 }),
  networkRule('net-stays', { dest_port: 23 }),
];
const after: RuleObject[] = [
  ...before.filter(({ metadata }) => ['lan1', 'net-stays'].includes(metadata.name)),
  firewallRule('changes', { dest_port: '20' }, { generation: 2 }),
  nat('nat-changes', { src_ip: '10.2.0.0/16' }),
  policy,
  cr('Mwan3Rule', 'comes', { policy: 'p' }),
];
/** Listings at the start of a pass: nothing has been written then. */
const LISTINGS = 13;

let openwrt: TestOpenwrt;
let wanted: { files: unknown; kernel: unknown };

const open = (): Promise<TestPass> => openPass(openwrt, { driver: icnDriver(openwrt) });
const found = () => ({ files: filesOf(openwrt), kernel: kernelOf(openwrt) });
const close = (agent: TestPass): Promise<void> => agent.driver.close();

beforeEach(async () => {
  openwrt = await startIcn({ journalTexts: false });
  const agent = await open();
  await agent.converge(after);
  wanted = found();
  await agent.converge([]);
  await close(agent);
});
afterEach(() => openwrt.stop());

/**
 * The firewall took in the last change of its file, and put its own chains behind what is in
 * iptables.
 */
const isReloaded = (): boolean => {
  const events = openwrt.simulator.journal();
  const lastWrite = events.findLastIndex(
    (entry) => entry.event === 'write' && entry.package.startsWith('firewall'),
  );
  return events
    .slice(lastWrite)
    .some((entry) => entry.event === 'reload' && entry.service === 'firewall');
};

const faults: Record<string, Pick<Fault, 'action' | 'when'>> = {
  'is reset before it is executed': { action: { kind: 'reset' } },
  'is executed and its answer lost': { action: { kind: 'reset' }, when: 'after' },
  'answers a server error': { action: { kind: 'http', status: 500, body: 'fork failed' } },
  'is executed, and answers a server error': {
    action: { kind: 'http', status: 500, body: 'fork failed' },
    when: 'after',
  },
  'is executed, and a gateway answers instead': {
    action: { kind: 'http', status: 502, body: 'Bad Gateway' },
    when: 'after',
  },
  'restarts OpenWRT with its factory configuration': { action: { kind: 'restart' } },
};

describe.each(Object.entries(faults))('when a call %s', (what, fault) => {
  it('converges, whichever call it is', async () => {
    let calls = 0;
    const turn = Object.keys(faults).indexOf(what);
    for (let skip = LISTINGS + firstCall(turn); ; skip += STRIDE) {
      const agent = await open();
      await agent.converge(before);
      openwrt.simulator.faults.add({ object: 'rest', ...fault, skip, times: 1 });
      await agent.converge(after, AFTER_ONE_FAILURE);
      const hit = openwrt.simulator.faults.list().length === 0;
      openwrt.simulator.faults.clear();
      await agent.converge(after);
      expect(found(), `after call ${skip}`).toEqual(wanted);
      expect(isReloaded(), `reloaded after call ${skip}`).toBe(true);
      expect(new Set(Object.values(agent.states()))).toEqual(new Set(['Applied']));
      await close(agent);
      if (hit) continue;
      calls = skip;
      break;
    }
    expect(calls).toBeGreaterThan(LISTINGS + 12);
  });
});

describe.each(['before', 'after'] as const)('an agent killed %s a call is executed', (when) => {
  it('leaves nothing that the next one does not repair, whatever call was the last', async () => {
    let calls = 0;
    for (let skip = LISTINGS + firstCall(when.length); ; skip += STRIDE) {
      const settled = await open();
      await settled.converge(before);
      await close(settled);

      const killed = await open();
      const death = new AbortController();
      const fault = { object: 'rest', skip, times: 1, when, action: { kind: 'hang' } } as const;
      const off = openwrt.simulator.faults.add(fault, () => death.abort(new Error('killed')));
      const survived = await killed.run(after, death.signal).then(
        () => true,
        () => false,
      );
      off();

      const next = await open();
      await next.converge(after);
      expect(found(), `after a death at call ${skip}`).toEqual(wanted);
      expect(isReloaded(), `reloaded after a death at call ${skip}`).toBe(true);
      await close(next);
      if (!survived) continue;
      calls = skip;
      break;
    }
    expect(calls).toBeGreaterThan(LISTINGS + 12);
  });
});

it('affects only its own rules by a collection that cannot be listed, and their states say so', async () => {
  const agent = await open();
  await agent.converge(before);
  const action = { kind: 'http', status: 500, body: 'x' } as const;
  const fault = { object: 'rest', method: 'GET', contains: 'mwan3/v1/policies', action };
  openwrt.simulator.faults.add(fault);
  await agent.run(after);
  expect(agent.states()).toMatchObject({
    changes: 'Applied',
    'nat-changes': 'Applied',
    p: 'Pending: WaitingForPackage',
  });
  expect(agent.reports().find(({ name }) => name === 'p')?.message).toBe(
    'OpenWRT answers HTTP status 500 when mwan3/policies is listed',
  );
  openwrt.simulator.faults.clear();
  await agent.run(after);
  expect(found()).toEqual(wanted);
  await close(agent);
});
