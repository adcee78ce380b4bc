/**
 * A CNF that ICN's controller configured: its sections become ours as they are. The simulator's
 * journal is the witness.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { POD_ADDRESSES_ANNOTATION } from '#shared/names.ts';
import { readUci, type DeviceSection } from '../../openwrt/checks/uci.ts';
import {
  configureAll,
  configuredTexts,
  ruleBody,
  ruleCr,
  zoneBody,
  zoneCr,
} from './support/configured-by-icn.ts';
import { filesOf, icnDriver, kernelOf, startIcn } from './support/icn-rest.ts';
import { called, icnPost, lastEntry, ofIcn, writesSince } from './support/icn.ts';
import { startOpenwrt, type TestOpenwrt } from './support/openwrt.ts';
import { cr, openPass, type TestPass } from './support/pass.ts';

let openwrt: TestOpenwrt;
let agent: TestPass;

beforeEach(async () => {
  openwrt = await startOpenwrt();
  agent = await openPass(openwrt);
});
afterEach(async () => {
  await agent.driver.close();
  await openwrt.stop();
});

const DELETED = { deletionTimestamp: '2026-01-02T00:00:00Z' };
const everything = () => configuredTexts(openwrt);
const firewall = () => openwrt.sections('firewall');
const OUR_NAMES: Record<string, string> = {
  lan1: 'sdewan_zone_lan1',
  'lan1-wan': 'sdewan_fwd_lan1_wan',
  web: 'sdewan_dnat_web',
  'zz-last': 'sdewan_rule_zz_last',
  'reject-80': 'sdewan_rule_reject_80',
  out: 'sdewan_snat_out',
};
/** The sections with the names that those of ICN get. */
const named = (sections: readonly DeviceSection[]): DeviceSection[] =>
  sections.map((section) => ({
    ...section,
    name: section.name ?? OUR_NAMES[String(section.options['name'])],
  }));

describe("what ICN's controller made", () => {
  it('gets our names where it is, in one write and without a reload, when it is as the CRs say, whatever its order', async () => {
    const rules = await configureAll(openwrt);
    const [before, sections, mark] = [everything(), firewall(), lastEntry(openwrt)];
    await agent.run(rules);
    expect(agent.reports().filter(({ state }) => state !== 'Applied')).toEqual([]);
    expect(writesSince(openwrt, mark).map((write) => write.package)).toEqual(['firewall']);
    expect(openwrt.simulator.reloads()).toEqual({});
    expect(firewall()).toEqual(named(sections));
    const restarted = await openPass(openwrt);
    await restarted.run(rules);
    await restarted.driver.close();
    expect(writesSince(openwrt, mark)).toHaveLength(1);
    expect({ ...everything(), firewall: '' }).toEqual({ ...before, firewall: '' });
  });

  it('is changed in place where it differs, and nothing is missing at any moment', async () => {
    const rules = await configureAll(openwrt);
    const before = firewall();
    const mark = lastEntry(openwrt);
    const changed = rules.map((rule) =>
      rule.metadata.name === 'reject-80' ? ruleCr({ dest_port: '8080' }) : rule,
    );
    const added = cr('FirewallRule', 'new', { src: 'lan1', target: 'DROP' });
    await agent.run([...changed, added]);
    const writes = writesSince(openwrt, mark);
    expect(writes.map((write) => write.package)).toEqual(['firewall', 'firewall']);
    const names = before.flatMap(({ options }) => options['name'] ?? []).map(String);
    for (const { text } of writes)
      for (const name of names)
        expect(called(readUci(text), name)).toHaveLength(called(before, name).length);
    const expected = before.map((section) =>
      section.options['name'] === 'reject-80'
        ? { ...section, options: { ...section.options, dest_port: '8080' } }
        : section,
    );
    expect(firewall().slice(0, -1)).toEqual(named(expected));
    expect(openwrt.simulator.reloads()).toEqual({ firewall: 1 });
    expect(firewall().at(-1)?.name).toBe('sdewan_rule_new');
    expect(await agent.converge([...changed, added])).toMatchObject({ tries: 1 });
    expect(agent.transactions()).toEqual(['done']);
  });

  it('is left alone and reported when its CR is gone, if only ICN makes such sections', async () => {
    const rules = await configureAll(openwrt);
    const [before, mark] = [everything(), lastEntry(openwrt)];
    await agent.run([]);
    expect(agent.leftOvers()).toEqual(['firewall lan1-wan', 'mwan3 balance']);
    expect(writesSince(openwrt, mark)).toEqual([]);
    expect(everything()).toEqual(before);
    await agent.run(rules);
    expect(agent.leftOvers()).toEqual([]);
  });

  it('is one section afterwards when it is there twice', async () => {
    await icnPost(openwrt, 'firewall/v1/zones', zoneBody);
    await icnPost(openwrt, 'firewall/v1/rules', ruleBody);
    await icnPost(openwrt, 'firewall/v1/rules', ruleBody);
    await icnPost(openwrt, 'firewall/v1/zones', { ...zoneBody, masq: '0' });
    await icnPost(openwrt, 'firewall/v1/rules', { ...ruleBody, dest_port: '1' });
    const mark = lastEntry(openwrt);
    await agent.run([zoneCr(), ruleCr()]);
    expect(agent.states()).toEqual({ lan1: 'Applied', 'reject-80': 'Applied' });
    expect(called(firewall(), 'lan1')).toMatchObject([{ options: { masq: '1' } }]);
    expect(called(firewall(), 'reject-80')).toMatchObject([{ options: { dest_port: '80' } }]);
    expect(writesSince(openwrt, mark)).toHaveLength(2);
    expect(await agent.converge([zoneCr(), ruleCr()])).toMatchObject({ tries: 1 });
    expect(writesSince(openwrt, mark)).toHaveLength(2);
  });
});

describe("over ICN's REST", () => {
  beforeEach(async () => {
    await agent.driver.close();
    await openwrt.stop();
    openwrt = await startIcn();
    agent = await openPass(openwrt, { driver: icnDriver(openwrt) });
  });

  it('takes over what it made without a write, and it is changed and removed', async () => {
    const rules = await configureAll(openwrt);
    const [before, mark] = [everything(), lastEntry(openwrt)];
    await agent.run(rules);
    expect(agent.reports().filter(({ state }) => state !== 'Applied')).toEqual([]);
    expect(writesSince(openwrt, mark)).toEqual([]);
    expect(everything()).toEqual(before);

    const changed = rules.map((rule) =>
      rule.metadata.name === 'reject-80' ? ruleCr({ dest_port: '8080' }) : rule,
    );
    await agent.converge(changed);
    expect(called(firewall(), 'reject-80')).toEqual([]);
    expect(called(firewall(), 'reject_80')).toMatchObject([{ options: { dest_port: '8080' } }]);
    expect(called(firewall(), 'zz-last')).toHaveLength(1);

    await agent.converge([]);
    expect(called(firewall(), 'zz-last')).toHaveLength(0);
  });

  it('takes over what it keeps in packages of its own, and in the kernel, as it is', async () => {
    const atFirst = kernelOf(openwrt);
    const made = [
      ['nat/v1/nats', 'CNFNAT', { src_dip: '172.16.30.10', dest: 'net1', target: 'SNAT' }],
      [
        'networkfirewall/v1/rules',
        'NetworkFirewallRule',
        { src: '#172.16.30.10', proto: 'tcp', dest_port: '22', target: 'DROP' },
      ],
      ['route/v1/routes', 'CNFRoute', { dst: '10.99.0.0/16', gw: '172.16.30.1', dev: 'net1' }],
      ['rule/v1/rules', 'CNFRouteRule', { src: '10.1.0.0/16', prio: '100', table: '40' }],
    ] as const;
    for (const [path, kind, spec] of made)
      await icnPost(openwrt, path, { name: kind.toLowerCase(), ...spec });
    const application = { name: 'app', iplist: '10.1.1.1' };
    await icnPost(openwrt, 'application/v1/applications', application);
    const addresses = { [POD_ADDRESSES_ANNOTATION]: '10.1.1.1' };
    const rules = [
      ...made.map(([, kind, spec]) => cr(kind, kind.toLowerCase(), spec, ofIcn)),
      cr(
        'SdewanApplication',
        'app',
        { podSelector: { matchLabels: { app: 'x' } } },
        { ...ofIcn, annotations: addresses },
      ),
    ];
    const [before, kernel] = [filesOf(openwrt), kernelOf(openwrt)];
    const calls = openwrt.simulator.restCalls().length;
    await agent.run(rules);
    expect(agent.reports().filter(({ state }) => state !== 'Applied')).toEqual([]);
    const writes = openwrt.simulator.restCalls().slice(calls);
    expect(writes.filter((call) => !call.startsWith('GET '))).toEqual([]);
    expect([filesOf(openwrt), kernelOf(openwrt)]).toEqual([before, kernel]);
    await agent.converge(
      rules.map((rule) => ({ ...rule, metadata: { ...rule.metadata, ...DELETED } })),
    );
    expect(Object.values(agent.states())).toEqual(rules.map(() => 'Removed'));
    expect(kernelOf(openwrt)).toEqual(atFirst);
  });

  it('reports what it keeps in packages of its own when the CR is gone', async () => {
    await configureAll(openwrt);
    await icnPost(openwrt, 'nat/v1/nats', { name: 'snat', target: 'MASQUERADE', dest: 'net1' });
    await icnPost(openwrt, 'application/v1/applications', { name: 'app', iplist: '10.1.1.1' });
    const mark = lastEntry(openwrt);
    await agent.run([]);
    expect(agent.leftOvers()).toEqual([
      'application/applications app',
      'firewall/forwardings lan1-wan',
      'nat/nats snat',
    ]);
    expect(writesSince(openwrt, mark)).toEqual([]);
  });

  it("takes what it did not make for an administrator's", async () => {
    await icnPost(openwrt, 'firewall/v1/zones', zoneBody);
    await agent.run([zoneCr({}, {})]);
    expect(agent.states()).toEqual({ lan1: 'Failed: NameTaken' });
  });
});

describe('what ICN did not make', () => {
  it("is an administrator's when the CR bears no finalizer of ICN's", async () => {
    await icnPost(openwrt, 'firewall/v1/zones', zoneBody);
    await icnPost(openwrt, 'firewall/v1/rules', ruleBody);
    const before = firewall();
    await agent.run([zoneCr({}, {}), ruleCr({}, {})]);
    expect(agent.states()).toEqual({
      lan1: 'Failed: NameTaken',
      'reject-80': 'Pending: WaitingForReference',
    });
    expect(firewall()).toEqual(before);
    await agent.run([]);
    expect(firewall()).toEqual(before);
  });
});
