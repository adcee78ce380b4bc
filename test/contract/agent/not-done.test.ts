/**
 * An OpenWRT that says that it has done what it has not: no rule is blamed, nothing is called
 * applied that is not, and the next tries bring it.
 */
import { afterEach, describe, expect, it } from 'vitest';
import type { RuleObject } from '#shared/kube/objects.ts';
import type { Fault } from '../../openwrt/simulator/faults.ts';
import type { Effort } from './support/converge.ts';
import { startOpenwrt, type TestOpenwrt } from './support/openwrt.ts';
import { firewallRule, openPass, zone, type TestPass } from './support/pass.ts';

let openwrt: TestOpenwrt;
afterEach(() => openwrt.stop());

const stays = [zone('lan1', 'ovn-net1'), firewallRule('stays', { dest_port: '1' })];
const before: RuleObject[] = [
  ...stays,
  firewallRule('changes', { dest_port: '2' }),
  firewallRule('goes', { dest_port: '3' }),
];
const after: RuleObject[] = [
  ...stays,
  firewallRule('changes', { dest_port: '20' }, { generation: 2 }),
  firewallRule('comes', { dest_port: '4' }),
];
const AFTER = ['changes 20', 'comes 4', 'stays 1'];
const ALL_APPLIED = { lan1: 'Applied', stays: 'Applied', changes: 'Applied', comes: 'Applied' };

const lie = (options: Pick<Fault, 'skip' | 'times'>): Fault => ({
  ...options,
  object: 'uci',
  method: 'apply',
  action: { kind: 'status', status: 0 },
});
const rulesOnDevice = (): string[] =>
  openwrt
    .sections('firewall')
    .flatMap(({ type, name = '', options }) =>
      type === 'rule' && name.startsWith('sdewan_')
        ? [`${name.replace('sdewan_rule_', '')} ${String(options['dest_port'])}`]
        : [],
    )
    .toSorted();

/**
 * What the staged path finds staged is rolled back after a second; until then the loop may try
 * again some times. Its waits are drawn, each between a tenth and the whole of twice the one
 * before: the fifth, of up to 8 s, can begin within that second.
 */
const SOON: Effort = { tries: 10, ms: 10_000 };
/** Four times that, where the waits are up to 10 s. */
const AFTER_FOUR_FAILURES: Effort = { tries: 15, ms: 120_000 };

describe.each([
  ['the fast path', 'own'],
  ['the staged path', 'stock'],
] as const)('on %s, a change that was not made', (_path, login) => {
  it('is made by the next tries, whichever apply it was', async () => {
    openwrt = await startOpenwrt({ login, journalTexts: false });
    let applies = 0;
    for (let wasHit = true; wasHit; applies += 1) {
      const agent = await openPass(openwrt);
      await agent.converge(before);
      openwrt.simulator.faults.add(lie({ skip: applies, times: 1 }));
      await agent.converge(after, SOON);
      wasHit = openwrt.simulator.faults.list().length === 0;
      openwrt.simulator.faults.clear();
      expect(rulesOnDevice(), `apply ${applies}`).toEqual(AFTER);
      expect(agent.states(), `apply ${applies}`).toEqual(ALL_APPLIED);
      await agent.driver.close();
    }
    expect(applies).toBeGreaterThan(1);
  });

  it('is made as soon as it is not for the fifth time', async () => {
    openwrt = await startOpenwrt({ login, journalTexts: false });
    const agent = await openPass(openwrt);
    await agent.converge(before);
    openwrt.simulator.faults.add(lie({ times: 4 }));
    await agent.converge(after, AFTER_FOUR_FAILURES);
    expect(rulesOnDevice()).toEqual(AFTER);
    expect(agent.states()).toEqual(ALL_APPLIED);
  });

  it('blames no rule that stays when another one was to be removed', async () => {
    openwrt = await startOpenwrt({ login, journalTexts: false });
    const agent = await openPass(openwrt);
    await agent.converge(before);
    openwrt.simulator.faults.add(lie({ times: 1 }));
    await agent.converge(stays, SOON);
    expect(rulesOnDevice()).toEqual(['stays 1']);
    expect(agent.transactions()).toEqual(['done', 'done']);
    expect(agent.states()).toEqual({ lan1: 'Applied', stays: 'Applied' });
  });
});

describe.each([
  ['the fast path', 'own'],
  ['the staged path', 'stock'],
] as const)('on %s, a rule of which OpenWRT stores nothing, without a word,', (_path, login) => {
  const rules = [...before, firewallRule('left-out', { dest_port: '9' })];
  const applied = { lan1: 'Applied', stays: 'Applied', changes: 'Applied', goes: 'Applied' };
  const leaveOut = (): void => {
    openwrt.simulator.store.skipped = new Set(['sdewan_rule_left_out']);
  };
  const wordOf = (agent: TestPass) =>
    agent.reports().find(({ name }) => name === 'left-out')?.message;

  it('is Failed within half a minute when it is the only change, and says why; all others stay', async () => {
    openwrt = await startOpenwrt({ login, journalTexts: false });
    const agent = await openPass(openwrt);
    await agent.converge(before);
    leaveOut();
    const following = agent.follow(() => rules);
    const isFailed = (): boolean => agent.states()['left-out'] === 'Failed: RefusedByOpenwrt';
    await openwrt.clock.advance(15_000);
    expect(isFailed()).toBe(false);
    await openwrt.clock.reach('it is Failed', isFailed, 20_000);
    expect(wordOf(agent)).toBe(
      'OpenWRT refuses package firewall with this rule: OpenWRT says that it has stored the section, and has left it out, time and again',
    );
    expect(agent.states()).toMatchObject(applied);
    openwrt.simulator.store.skipped = new Set();
    const isApplied = (): boolean => agent.states()['left-out'] === 'Applied';
    await openwrt.clock.reach('it is tried again, and stored', isApplied, 70_000);
    await openwrt.clock.until(following.stop());
    await agent.driver.close();
  });

  it('is Failed at once when another change comes with it', async () => {
    openwrt = await startOpenwrt({ login, journalTexts: false });
    const agent = await openPass(openwrt);
    leaveOut();
    await agent.converge(rules, SOON);
    expect(agent.transactions()).toEqual(['rejected', 'rejected', 'done']);
    expect(agent.states()).toEqual({ ...applied, 'left-out': 'Failed: RefusedByOpenwrt' });
    await agent.driver.close();
  });
});

it('costs the change two seconds without a confirmation, when OpenWRT has rolled it back', async () => {
  openwrt = await startOpenwrt({ journalTexts: false });
  const agent = await openPass(openwrt);
  await agent.converge(before);
  openwrt.simulator.faults.add({ ...lie({ times: 1 }), method: 'confirm' });
  const following = agent.follow(() => after);
  const has = (): boolean => rulesOnDevice().join() === AFTER.join();
  await openwrt.clock.reach('the change is made', has);
  await openwrt.clock.reach('it is rolled back', () => !has(), 60_000);
  await openwrt.clock.reach('it is made again', has, 2_000);
  await openwrt.clock.advance(60_000);
  expect(rulesOnDevice()).toEqual(AFTER);
  expect(agent.states()).toEqual(ALL_APPLIED);
  await openwrt.clock.until(following.stop());
});
