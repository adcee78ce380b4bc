/**
 * A takeover from ICN's controller and the way back, with twenty objects of many kinds. Nothing may be missing in any file after any
 * write, nor in the kernel, which holds what the file held at the latest reload.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RuleObject } from '#shared/kube/objects.ts';
import { readUci, type JudgedSection } from '../../judge/uci.ts';
import { zoneBody } from './support/configured-by-icn.ts';
import { lastEntry, writesSince } from './support/icn.ts';
import { startOpenwrt, type OpenwrtOptions, type TestOpenwrt } from './support/openwrt.ts';
import { openPass, type TestPass } from './support/pass.ts';
import { configureTwenty, pathsOf } from './support/twenty-of-icn.ts';

let openwrt: TestOpenwrt;
let agent: TestPass;
let rules: RuleObject[];

const start = async (options: OpenwrtOptions = {}): Promise<void> => {
  openwrt = await startOpenwrt(options);
  agent = await openPass(openwrt);
};
const rest = async (method: string, path: string, body?: object): Promise<Response> =>
  openwrt.clock.until(
    fetch(`${openwrt.simulator.url}/cgi-bin/luci/sdewan/${path}`, {
      method,
      ...(body && { body: JSON.stringify(body) }),
    }),
  );
const reloadByIcn = () => rest('PUT', 'v1/service/firewall', { action: 'reload' });
const firewall = () => openwrt.sections('firewall');
const isOurs = ({ name }: JudgedSection): boolean => name?.startsWith('sdewan_') === true;

afterEach(async () => {
  await agent.driver.close();
  await openwrt.stop();
});

/** What a section says of itself; its options in their order. */
const contents = (sections: readonly JudgedSection[]) =>
  sections.map(({ type, options }) => [type, ...Object.entries(options)]);
const labels = (sections: readonly JudgedSection[]) =>
  sections.map(({ name, options }) => String(options['name'] ?? name));

describe.each(['own', 'stock'] as const)('with the %s login, of twenty objects', (login) => {
  beforeEach(async () => {
    await start({ login });
    rules = await configureTwenty(openwrt);
    await reloadByIcn();
  });

  it('each gets our name in its place, and nothing is missing at any moment', async () => {
    expect(rules).toHaveLength(20);
    const [before, mark] = [firewall(), lastEntry(openwrt)];
    const others = ['mwan3', 'ipsec', 'network'].map((name) => openwrt.text(name));
    const kernel = openwrt.simulator.firewall();
    await agent.converge(rules);
    expect(agent.reports().filter(({ state }) => state !== 'Applied')).toEqual([]);

    const writes = writesSince(openwrt, mark);
    expect(writes.map((write) => [write.package, write.call])).toEqual([['firewall', 'uci apply']]);
    for (const { text } of writes) expect(contents(readUci(text))).toEqual(contents(before));
    expect(contents(firewall())).toEqual(contents(before));
    expect(firewall().filter(isOurs)).toHaveLength(14);
    expect(['mwan3', 'ipsec', 'network'].map((name) => openwrt.text(name))).toEqual(others);
    expect(openwrt.simulator.firewall().sections).toHaveLength(kernel.sections.length);
    const mine = lastEntry(openwrt);
    await agent.converge(rules);
    expect(lastEntry(openwrt)).toBe(mine);
  });

  it('one that differs is changed in its place, and the service reloads once for that', async () => {
    const [before, mark] = [firewall(), lastEntry(openwrt)];
    const reloads = openwrt.simulator.reloads()['firewall'] ?? 0;
    const changed = rules.map((rule) =>
      rule.metadata.name === 'accept-22'
        ? { ...rule, spec: { ...Object(rule.spec), dest_port: '22' } }
        : rule,
    );
    await agent.converge(changed);
    await openwrt.clock.advance(1_000);
    for (const { text } of writesSince(openwrt, mark).filter(
      (write) => write.package === 'firewall',
    ))
      expect(labels(readUci(text))).toEqual(labels(before));
    const at = labels(before).indexOf('accept-22');
    expect(firewall()[at]).toMatchObject({
      name: 'sdewan_rule_accept_22',
      options: { dest_port: '22' },
    });
    expect(contents(firewall()).filter((_section, place) => place !== at)).toEqual(
      contents(before).filter((_section, place) => place !== at),
    );
    const ours = openwrt.simulator.reloads()['firewall'] ?? 0;
    // An image whose procd reloads by itself does it at each commit.
    expect(ours - reloads).toBe(login === 'own' ? 1 : 2);
  });

  it("ICN's REST finds each by its name afterwards, and can replace and remove each when we are gone", async () => {
    await agent.converge(rules);
    for (const path of pathsOf(rules)) {
      const answer = await rest('GET', path);
      expect([path, answer.status]).toEqual([path, 200]);
      expect(await answer.json()).toMatchObject({ name: path.split('/').at(-1) });
    }
    const put = await rest('PUT', 'firewall/v1/zones/lan1', { ...zoneBody, masq: '0' });
    expect(put.status).toBe(200);
    expect(labels(firewall()).filter((name) => name === 'lan1')).toHaveLength(1);
    expect(firewall().find(({ options }) => options['name'] === 'lan1')?.options['masq']).toBe('0');
    const needed = new Set(['FirewallZone', 'Mwan3Policy', 'IpsecProposal']);
    const users = rules.filter(({ kind }) => !needed.has(kind));
    for (const path of pathsOf([...users, ...rules.filter((rule) => !users.includes(rule))])) {
      const { status } = await rest('DELETE', path);
      expect([path, status]).toEqual([path, 200]);
    }
    expect(firewall().filter(isOurs)).toEqual([]);
  });
});
