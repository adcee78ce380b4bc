/**
 * Other writers are there while what ICN's controller made is taken over: an administrator who
 * writes at the same moment, a login that may not give names, and ICN's controller itself, which
 * still runs.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { stagedRights } from '../transactions/staged-rights.ts';
import { readUci } from '../../openwrt/checks/uci.ts';
import { ruleBody, ruleCr, zoneBody, zoneCr } from './support/configured-by-icn.ts';
import { called, icnPost, lastEntry, writesSince } from './support/icn.ts';
import { startOpenwrt, type OpenwrtOptions, type TestOpenwrt } from './support/openwrt.ts';
import { cr, firewallRule, openPass, PACKAGES, type TestPass } from './support/pass.ts';

let openwrt: TestOpenwrt;
let agent: TestPass;

const start = async (options: OpenwrtOptions = {}): Promise<void> => {
  openwrt = await startOpenwrt(options);
  agent = await openPass(openwrt);
  await icnPost(openwrt, 'firewall/v1/zones', zoneBody);
  await icnPost(openwrt, 'firewall/v1/rules', ruleBody);
};
/** The file as it was, and an agent that knows nothing. */
const again = async (text: string): Promise<void> => {
  openwrt.simulator.faults.clear();
  await agent.driver.close();
  for (const name of ['ledger.json', 'last-good.json']) rmSync(join(openwrt.folder, name));
  openwrt.simulator.store.replace('firewall', text, { call: 'as before' });
  agent = await openPass(openwrt);
};
const stop = async (): Promise<void> => {
  openwrt.simulator.faults.clear();
  await agent.driver.close();
  await openwrt.stop();
};
afterEach(stop);

const firewall = () => openwrt.sections('firewall');
const contents = () => firewall().map(({ type, options }) => ({ type, options }));
const names = () => firewall().map(({ name, options }) => name ?? String(options['name']));
const OURS = ['sdewan_zone_lan1', 'sdewan_rule_reject_80'];
const RULES = [zoneCr(), ruleCr()];

/** An administrator's section above all others: every anonymous one has another id then. */
const ABOVE = `config rule\n\toption name 'above'\n\toption target 'DROP'\n`;
/** It has the name that ICN's is to get. */
const TAKEN = `config rule 'sdewan_rule_reject_80'\n\toption name 'taken'\n\toption target 'DROP'\n`;
const put = (text: string): void =>
  openwrt.simulator.store.replace('firewall', `${text}\n${openwrt.text('firewall')}`, {
    call: 'an administrator',
  });

describe.each(['own', 'stock'] as const)('with the %s login', (login) => {
  const converge = () => agent.converge(RULES, { tries: 20, ms: 120_000 });
  /** Milliseconds that it took; each call takes one. */
  const takeover = async (meanwhile: () => Promise<void>): Promise<number> => {
    // What it has read before needs no second look.
    await agent.driver.read(new AbortController().signal);
    const begin = openwrt.clock.agent.monotonic();
    openwrt.simulator.faults.add({ action: { kind: 'delay', ms: 1 } });
    await openwrt.clock.until(Promise.all([converge(), meanwhile()]));
    return openwrt.clock.agent.monotonic() - begin;
  };

  it('keeps a section that is added above at any moment, and gives no wrong name', async () => {
    await start({ login });
    const [before, text] = [contents(), openwrt.text('firewall')];
    const end = await takeover(async () => {});
    expect(end).toBeGreaterThan(10);
    for (let atMs = 0.5; atMs < end; atMs += 1) {
      await again(text);
      const mark = lastEntry(openwrt);
      await takeover(() => openwrt.clock.agent.sleep(atMs).then(() => put(ABOVE)));
      await converge();
      const [above, ...others] = contents();
      expect(above, `at ${atMs} ms`).toMatchObject({ options: { name: 'above' } });
      expect(others, `at ${atMs} ms`).toEqual(before);
      expect(firewall()[0]?.name).toBeUndefined();
      expect(names().slice(-2), `at ${atMs} ms`).toEqual(OURS);
      for (const { text } of writesSince(openwrt, mark))
        for (const name of ['lan1', 'reject-80'])
          expect(called(readUci(text), name), `at ${atMs} ms`).toHaveLength(1);
    }
  });

  it('does not give a name that is taken at the last moment, and loses no section', async () => {
    await start({ login });
    const apply = { object: 'uci', method: 'apply', contains: login === 'own' ? '30' : '10' };
    openwrt.simulator.faults.add({ ...apply, times: 1, action: { kind: 'delay', ms: 0 } }, () =>
      put(TAKEN),
    );
    await converge();
    const anonymous = called(firewall(), 'reject-80').filter(({ name }) => name === undefined);
    expect(anonymous).toMatchObject([{ options: { dest_port: '80' } }]);
    expect(called(firewall(), 'lan1')).toMatchObject([{ name: 'sdewan_zone_lan1' }]);
  });
});

it('leaves all as it is with a login that may not give names, and applies the other rules', async () => {
  await start({
    factory: {
      aclFiles: stagedRights(PACKAGES),
      agent: { username: 'sdewan', password: 'agent-pw' },
    },
  });
  const before = firewall();
  const others = [
    firewallRule('ours', { src: 'lan' }),
    cr('FirewallRule', 'at-lan1', { src: 'lan1', target: 'DROP' }),
  ];
  await agent.converge([...RULES, ...others], { tries: 8, ms: 60_000 });
  expect(agent.states()).toEqual({
    lan1: 'Pending: AdoptionNeedsRights',
    'reject-80': 'Pending: AdoptionNeedsRights',
    ours: 'Applied',
    'at-lan1': 'Applied',
  });
  expect(agent.reports()[0]?.message).toContain('uci rename');
  expect(firewall().slice(0, -2)).toEqual(before);
});

it("leaves alone for ten minutes what ICN's controller writes again after it was taken over", async () => {
  await start();
  await agent.converge(RULES);
  const url = `${openwrt.simulator.url}/cgi-bin/luci/sdewan/firewall/v1/rules/reject-80`;
  const body = JSON.stringify({ ...ruleBody, dest_port: '81' });
  await openwrt.clock.until(fetch(url, { method: 'PUT', body }));
  const [before, mark] = [firewall(), lastEntry(openwrt)];
  expect(called(before, 'reject-80')).toMatchObject([{ name: undefined }]);
  for (const ms of [0, 599_000]) {
    await openwrt.clock.advance(ms);
    await agent.run(RULES);
    expect(agent.states()).toEqual({ lan1: 'Applied', 'reject-80': 'Pending: ForeignController' });
  }
  expect(writesSince(openwrt, mark)).toEqual([]);
  expect(firewall()).toEqual(before);
  await openwrt.clock.advance(1_000);
  await agent.run(RULES);
  expect(agent.states()).toEqual({ lan1: 'Applied', 'reject-80': 'Applied' });
  expect(called(firewall(), 'reject-80')).toMatchObject([
    { name: 'sdewan_rule_reject_80', options: { dest_port: '80' } },
  ]);
});
