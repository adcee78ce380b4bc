/**
 * Whatever call fails: the next passes converge, and no service is left with an older version of
 * its file. An agent that is killed: test/contract/transactions/reports.test.ts and killed.test.ts.
 */
import { afterEach, describe, expect, it } from 'vitest';
import type { RuleObject } from '#shared/kube/objects.ts';
import type { Fault } from '../../openwrt/simulator/faults.ts';
import { AFTER_ONE_FAILURE, type Effort } from './support/converge.ts';
import { firstCall, STRIDE } from '../each-call.ts';
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

const start = async (login: 'own' | 'stock'): Promise<void> => {
  openwrt = await startOpenwrt({ login, journalTexts: false });
  await (await openPass(openwrt)).run(before);
};
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

/**
 * The service was reloaded after the last change of its file, by us or by procd, who takes its
 * time.
 */
const expectReloaded = (what: string): Promise<void> =>
  openwrt.clock.reach(`the firewall is reloaded after ${what}`, () => {
    const events = openwrt.simulator.journal();
    const lastWrite = events.findLastIndex(
      (entry) => entry.event === 'write' && entry.package === 'firewall',
    );
    return events
      .slice(lastWrite)
      .some((entry) => entry.event === 'reload' && entry.service === 'firewall');
  });

const expectRight = (adminSections: unknown): void => {
  expect(ours()).toEqual(wanted);
  expect(portOf('sdewan_rule_changes')).toBe('20');
  expect(foreign()).toEqual(adminSections);
};

const actions: Record<string, Pick<Fault, 'action' | 'when'>> = {
  'is reset before it is executed': { action: { kind: 'reset' } },
  'is executed and its answer lost': { action: { kind: 'reset' }, when: 'after' },
  'answers a ubus error': { action: { kind: 'status', status: 9 } },
  'finds the session gone': {
    action: { kind: 'error', error: 'access' },
  },
  'kills rpcd': { action: { kind: 'rpcd dies' } },
  'restarts OpenWRT with its factory configuration': { action: { kind: 'restart' } },
};

/** A call that kills rpcd is given up at its limit; the longest is that of a reload. */
const RELOAD_LIMIT_MS = 35_000;
const mostAfter = (what: string): Effort => ({
  ...AFTER_ONE_FAILURE,
  ms: AFTER_ONE_FAILURE.ms + (what === 'kills rpcd' ? RELOAD_LIMIT_MS : 0),
});

/** The ways to write, and which faults are different there. */
const paths: Record<'own' | 'stock', { name: string; faults: readonly string[] }> = {
  own: { name: 'the fast path', faults: Object.keys(actions) },
  stock: {
    name: 'the staged path',
    faults: Object.keys(actions).filter((what) => !what.includes('rpcd')),
  },
};
const cases = (['own', 'stock'] as const).flatMap((login) =>
  paths[login].faults.map((what) => ({ login, what, path: paths[login].name })),
);

describe.each(cases)('on $path, when a call $what', ({ login, what }) => {
  it('converges, whichever call it is', async () => {
    await start(login);
    const fault = actions[what];
    if (!fault) throw new Error(what);
    const adminSections = foreign();
    let calls = 0;
    for (let skip = firstCall(Object.keys(actions).indexOf(what)); ; skip += STRIDE) {
      const agent = await openPass(openwrt);
      await agent.converge(before);
      openwrt.simulator.faults.add({ ...fault, skip, times: 1 });
      await agent.converge(after, mostAfter(what));
      const hit = openwrt.simulator.faults.list().length === 0;
      openwrt.simulator.faults.clear();
      expectRight(adminSections);
      await expectReloaded(`call ${skip}`);
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
