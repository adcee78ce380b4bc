/**
 * An agent whose ledger is lost where sections bear no stamp: on ICN's REST, and where it was taken
 * away. It cannot know whose they are, so it takes none, and confirms no deletion while one with
 * the rule's name is there.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { STAMP } from '#shared/compile/stamp.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { icnDriver, startIcn } from './support/icn-rest.ts';
import { startOpenwrt, type TestOpenwrt } from './support/openwrt.ts';
import { cr, deleted, openPass, type TestPass } from './support/pass.ts';

const policy = (name: string): RuleObject =>
  cr('Mwan3Policy', name, { members: [{ network: 'ovn-net1', metric: 1, weight: 1 }] });
const rules = [policy('web'), policy('mail')];
const STAMPS = new RegExp(`\\n\\toption ${STAMP} .*`, 'g');

type Ground = {
  openwrt: TestOpenwrt;
  open: () => Promise<TestPass>;
};
const onIcn = async (): Promise<Ground> => {
  const openwrt = await startIcn();
  return { openwrt, open: () => openPass(openwrt, { driver: icnDriver(openwrt) }) };
};
const onUnstamped = async (): Promise<Ground> => {
  const openwrt = await startOpenwrt();
  return { openwrt, open: () => openPass(openwrt) };
};
const losses: [string, (file: string) => void][] = [
  ['broken', (file) => writeFileSync(file, '{"version":2,"owned":{"mwan3')],
  ['gone', (file) => rmSync(file)],
];

const open: TestPass[] = [];
let stop = async (): Promise<void> => {};
afterEach(async () => {
  await Promise.all(open.splice(0).map(({ driver }) => driver.close()));
  await stop();
});

describe.each<[string, () => Promise<Ground>]>([
  ["on ICN's REST", onIcn],
  ['on sections without stamps', onUnstamped],
])('%s', (_where, start) => {
  it.each(losses)('has a ledger that is %s', async (_how, lose) => {
    const { openwrt, ...ground } = await start();
    ({ stop } = openwrt);
    const next = async (): Promise<TestPass> => {
      const agent = await ground.open();
      open.push(agent);
      return agent;
    };
    const names = () => openwrt.sections('mwan3').map(({ name }) => name);
    const before = names();
    await (await next()).run(rules);
    openwrt.write('mwan3', openwrt.text('mwan3').replaceAll(STAMPS, ''));
    lose(join(openwrt.folder, 'ledger.json'));

    const agent = await next();
    await agent.run(rules);
    expect(agent.states()).toEqual({ web: 'Failed: NameTaken', mail: 'Failed: NameTaken' });
    expect(agent.reports()[0]?.message).toContain('or made before it lost its ledger');
    const leaving = [policy('mail'), deleted(policy('web'))];
    await agent.run(leaving);
    expect(agent.states()['web']).toBe('Pending: Removing');
    const report = agent.reports().find(({ name }) => name === 'web');
    expect(report?.message).toMatch(/has lost its ledger .* section mwan3\S*\.web\S* of OpenWRT/);

    const restarted = await next();
    await restarted.run(leaving);
    expect(restarted.states()['web']).toBe('Pending: Removing');
    expect(names()).toEqual(expect.arrayContaining(['web', 'mail']));
    const withoutWeb = openwrt
      .text('mwan3')
      .replaceAll(/\nconfig \w+ '?web\w*'?\n(?:\t.*\n)+/g, '');
    openwrt.write('mwan3', withoutWeb);
    await restarted.run(leaving);
    expect(restarted.states()['web']).toBe('Removed');
    expect(names()).toEqual([...before, ...names().filter((name) => name?.startsWith('mail'))]);
  });

  it('waits with its ledger for nothing of an administrator in a deletion', async () => {
    const { openwrt, ...ground } = await start();
    ({ stop } = openwrt);
    const agent = await ground.open();
    open.push(agent);
    await agent.run([...rules, policy('admin_only')]);
    expect(agent.states()['admin_only']).toBe('Failed: NameTaken');
    await agent.run([...rules, deleted(policy('admin_only'))]);
    expect(agent.states()['admin_only']).toBe('Removed');
  });
});

it('reloads services that may not have the latest contents before anything is said of a rule', async () => {
  const openwrt = await startOpenwrt();
  ({ stop } = openwrt);
  const first = await openPass(openwrt);
  open.push(first);
  await first.run(rules);
  const reloads = openwrt.simulator.reloads()['mwan3'] ?? 0;
  writeFileSync(join(openwrt.folder, 'ledger.json'), '{');
  for (const more of [1, 1]) {
    const agent = await openPass(openwrt);
    open.push(agent);
    await agent.run(rules);
    expect(agent.states()).toEqual({ web: 'Applied', mail: 'Applied' });
    expect(openwrt.simulator.reloads()['mwan3']).toBe(reloads + more);
  }
});
