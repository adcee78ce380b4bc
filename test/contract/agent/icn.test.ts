/**
 * Passes over ICN's REST: all kinds, in the files and in the kernel, with no more calls than there
 * are changes.
 */
import { writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RuleObject } from '#shared/kube/objects.ts';
import { POD_ADDRESSES_ANNOTATION } from '#shared/names.ts';
import { silentLogger } from '#shared/runtime/log.ts';
import { createDriver } from '../../../agent/openwrt/drivers.ts';
import { unconfirmedInMemory } from '../../../agent/openwrt/ubus/write/testing.ts';
import { OpenwrtUnreachableError } from '../../../agent/openwrt/driver.ts';
import { createIcnDriver } from '../../../agent/openwrt/icn/driver.ts';
import { makeCertificate } from '../../openwrt/simulator/uhttpd/certificate.ts';
import { filesOf, icnDriver, kernelOf, startIcn } from './support/icn-rest.ts';
import type { TestOpenwrt } from './support/openwrt.ts';
import { cr, firewallRule, openPass, zone, type TestPass } from './support/pass.ts';

let openwrt: TestOpenwrt;
let agent: TestPass;

beforeEach(async () => {
  openwrt = await startIcn();
  agent = await openPass(openwrt, { driver: icnDriver(openwrt) });
});
afterEach(async () => {
  await agent.driver.close();
  await openwrt.stop();
});

const NEVER = new AbortController().signal;
const COLLECTIONS = 13;
/** With `all`, the policy rules are looked for in the kernel, too. */
const READS = COLLECTIONS + 1;

const callsOf = async (work: () => Promise<unknown>): Promise<string[]> => {
  const before = openwrt.simulator.restCalls().length;
  await work();
  return openwrt.simulator.restCalls().slice(before);
};
const writesIn = (calls: readonly string[]): string[] =>
  calls.filter((call) => !call.startsWith('GET '));

/** An administrator, or another program, on the same API. */
const rest = async (method: string, path: string, body?: object): Promise<Response> =>
  openwrt.clock.until(
    fetch(`${openwrt.simulator.url}/cgi-bin/luci/sdewan/${path}`, {
      method,
      ...(body && { body: JSON.stringify(body) }),
    }),
  );

const namesIn = (uciPackage: string, type: string): unknown[] =>
  openwrt
    .sections(uciPackage)
    .filter((section) => section.type === type)
    .map(({ options }) => options['name']);
const applied = (rules: readonly RuleObject[]): Record<string, string> =>
  Object.fromEntries(rules.map(({ metadata }) => [metadata.name, 'Applied']));

const psk = { authentication_method: 'psk', pre_shared_key: 's3cret', crypto_proposal: ['prop-1'] };
const nat = (name: string, options: object = {}): RuleObject =>
  cr('CNFNAT', name, { target: 'SNAT', src_dip: '172.16.30.10', dest: 'net1', ...options });
const networkRule = (name: string, options: object = {}): RuleObject =>
  cr('NetworkFirewallRule', name, { src: 'net1', proto: 'tcp', target: 'DROP', ...options });
const inIptables = [
  nat('nat-a', { src_ip: '10.1.0.0/16' }),
  nat('nat-b', { src_ip: '10.2.0.0/16' }),
  networkRule('deny-22', { dest_port: 22 }),
];
const all = [
  zone('lan1', 'ovn-net1'),
  zone('wan1', 'ovn-net2', { masq: '1' }),
  cr('FirewallForwarding', 'lan-to-wan', { src: 'lan1', dest: 'wan1' }),
  firewallRule('reject-80'),
  cr('FirewallDNAT', 'dnat', { src: 'wan1', src_dport: 80, dest_ip: '192.168.1.2', proto: 'tcp' }),
  cr('FirewallSNAT', 'snat', {
    src_ip: '192.168.1.2',
    dest: 'wan1',
    src_dip: '1.2.3.4',
    proto: 'icmp',
  }),
  ...inIptables,
  cr('Mwan3Policy', 'balance1', {
    members: [
      { network: 'ovn-net1', metric: 1, weight: 2 },
      { network: 'ovn-net2', metric: 1, weight: 3 },
    ],
  }),
  cr('Mwan3Rule', 'http-rule', { policy: 'balance1', proto: 'tcp', dest_port: '80' }),
  cr('CNFRoute', 'to-hub', { dst: '10.99.0.0/16', gw: '172.16.30.1', dev: 'net1', table: 'cnf' }),
  cr('CNFRouteRule', 'by-cnf', { src: '10.5.0.0/16', table: '40', not: true }),
  cr(
    'SdewanApplication',
    'app-1',
    { podSelector: { matchLabels: { app: 'a' } } },
    { annotations: { [POD_ADDRESSES_ANNOTATION]: '10.6.0.1,10.6.0.2' } },
  ),
  cr('IpsecProposal', 'prop-1', { encryption_algorithm: 'aes128', hash_algorithm: 'sha256' }),
  cr('IpsecSite', 'site-a', {
    remote: '203.0.113.1',
    ...psk,
    connections: [
      { name: 'c-2', conn_type: 'transport', mode: 'route' },
      { name: 'c-1', conn_type: 'tunnel', mode: 'start', local_subnet: '10.1.0.0/16, 10.2.0.0/16' },
    ],
  }),
  cr('IpsecHost', 'host-b', {
    remote: '203.0.113.2',
    ...psk,
    connections: [{ name: 'c-3', conn_type: 'tunnel', mode: 'start', local_sourceip: '%config' }],
  }),
];

describe('all kinds', () => {
  it('are applied with a call each and an action per service, and removed without a trace', async () => {
    const files = filesOf(openwrt);
    const kernel = kernelOf(openwrt);
    const calls = await callsOf(() => agent.run(all));
    expect(agent.states()).toEqual(applied(all));
    expect(writesIn(calls)).toHaveLength(all.length + 3);
    expect(calls).toHaveLength(all.length + 3 + COLLECTIONS + READS);
    expect(await callsOf(() => agent.run(all))).toHaveLength(READS);
    const removal = await callsOf(() => agent.run([]));
    expect(removal).toHaveLength(all.length + 3 + READS + COLLECTIONS);
    expect(filesOf(openwrt)).toEqual(files);
    expect(kernelOf(openwrt)).toEqual(kernel);
  });

  it('never take more calls than there are changes, services and lists', async () => {
    // With what others refer to, so that no rule waits.
    const every = (nth: number): RuleObject[] =>
      all.filter(({ kind }, at) => at % nth === 0 || /Zone|Policy|Proposal/.test(kind));
    let before: readonly RuleObject[] = [];
    for (const rules of [every(2), all, every(3), every(2), every(1), [], all]) {
      const [was, is] = [new Set(before), new Set(rules)];
      const changes = [...was, ...is].filter((rule) => !was.has(rule) || !is.has(rule)).length;
      const writes = writesIn(await callsOf(() => agent.run(rules)));
      const actions = writes.filter((call) => call.includes('/service/')).length;
      expect(actions).toBeLessThanOrEqual(3);
      expect(writes.length - actions).toBeLessThanOrEqual(changes);
      before = rules;
    }
    expect(agent.states()).toEqual(applied(all));
  });

  it('are as they were after a restart of the agent, and after one of OpenWRT', async () => {
    await agent.run(all);
    const [files, kernel] = [filesOf(openwrt), kernelOf(openwrt)];
    await agent.driver.close();
    agent = await openPass(openwrt, { driver: icnDriver(openwrt) });
    expect(writesIn(await callsOf(() => agent.run(all)))).toEqual([]);
    openwrt.simulator.restart();
    await agent.converge(all);
    expect(agent.states()).toEqual(applied(all));
    expect([filesOf(openwrt), kernelOf(openwrt)]).toEqual([files, kernel]);
  });

  it('name the field of a rule that the API cannot hold, and affect no other', async () => {
    const ranges = firewallRule('range', { dest_port: '8000-8100' });
    const v6 = cr('CNFRoute', 'v6', { dst: '2001:db8::/32', dev: 'net1' });
    const site = cr('IpsecSite', 'xfrm', {
      remote: '203.0.113.9',
      ...psk,
      connections: [{ name: 'x', conn_type: 'tunnel', mode: 'start', if_id: 7 }],
    });
    await agent.run([...all, ranges, v6, site]);
    expect(agent.states()).toMatchObject({
      ...applied(all),
      range: 'Failed: UnsupportedByDriver',
      v6: 'Failed: UnsupportedByDriver',
      xfrm: 'Failed: UnsupportedByDriver',
    });
    const messages = agent.reports().map(({ message }) => message);
    expect(messages).toContain("spec.dest_port: ICN's REST API takes one port here");
    expect(messages).toContain("spec.connections[0].if_id: ICN's REST API ignores it");
  });
});

describe('rules in iptables', () => {
  it('are in the order of the rules after every action of the firewall', async () => {
    const accept = (dest_port: number): RuleObject =>
      networkRule('n-1', { dest_port, target: 'ACCEPT' });
    const drop = networkRule('n-2');
    const elsewhere = [zone('lan1', 'ovn-net1'), firewallRule('more')];
    const targets = (): (string | undefined)[] =>
      openwrt.simulator.kernel
        .iptables('filter')
        .filter((rule) => rule.includes('INPUT'))
        .map((rule) => /ACCEPT|DROP/.exec(rule)?.[0]);
    for (const rules of [
      [accept(22), drop],
      [accept(22), drop, ...elsewhere],
      [accept(23), drop, ...elsewhere],
    ]) {
      await agent.run(rules);
      expect(targets()).toEqual(['ACCEPT', 'DROP']);
    }
  });

  it('survive what the firewall does for other rules', async () => {
    await agent.run(inIptables);
    const kernel = kernelOf(openwrt);
    await agent.run([...inIptables, zone('lan1', 'ovn-net1'), firewallRule('another')]);
    expect(kernelOf(openwrt)).toEqual(kernel);
  });

  it('come back after another client has restarted the firewall', async () => {
    agent = await openPass(openwrt, { driver: icnDriver(openwrt, { reassertMs: 60_000 }) });
    await agent.run(inIptables);
    const kernel = kernelOf(openwrt);
    const left = await agent.driver.fingerprint(NEVER);
    await rest('PUT', 'v1/service/firewall', { action: 'restart' });
    expect(kernelOf(openwrt)).not.toEqual(kernel);
    await openwrt.clock.advance(60_000);
    expect(await agent.driver.fingerprint(NEVER)).not.toBe(left);
    await agent.run(inIptables);
    expect(kernelOf(openwrt)).toEqual(kernel);
    expect(agent.driftRepairs()).toBe(0);
    expect(agent.states()).toEqual(applied(inIptables));
  });

  it('are flushed when objects which are gone left them behind', async () => {
    await agent.run(inIptables);
    const kernel = kernelOf(openwrt);
    openwrt.write('firewall-nat', '');
    await agent.run(inIptables);
    expect(kernelOf(openwrt)).toEqual(kernel);
  });

  it('name the device that #default stands for, since it moves', async () => {
    const masquerade = cr('CNFNAT', 'out', { target: 'MASQUERADE', dest: '#default' });
    await agent.run([masquerade]);
    expect(agent.states()).toEqual({ out: 'Applied' });
    expect(openwrt.sections('firewall-nat')[0]?.options['dest']).toBe('eth0');
  });
});

describe('routes and policy rules', () => {
  const route = (name: string, options: object): RuleObject =>
    cr('CNFRoute', name, { dst: '10.99.0.0/16', gw: '172.16.40.1', dev: 'net2', ...options });
  const policyRule = cr('CNFRouteRule', 'by-cnf', { src: '10.5.0.0/16', table: '40', prio: 77 });
  const held = [route('to-hub', {}), policyRule];
  const expectRepaired = async (breakIt: () => void): Promise<void> => {
    const { signal } = new AbortController();
    await agent.run(held);
    expect(agent.states()).toEqual(applied(held));
    const kernel = kernelOf(openwrt);
    const left = await agent.driver.fingerprint(signal);
    breakIt();
    expect(kernelOf(openwrt)).not.toEqual(kernel);
    const seen = new Set<string>();
    for (let look = 1; look <= COLLECTIONS; look += 1)
      seen.add(await agent.driver.fingerprint(signal));
    expect([...seen]).not.toEqual([left]);
    const writes = writesIn(await callsOf(() => agent.run(held)));
    expect(writes).toHaveLength(1);
    expect(kernelOf(openwrt)).toEqual(kernel);
    expect(agent.states()).toEqual(applied(held));
    expect(agent.driftRepairs()).toBe(1);
  };

  it('are set again when the kernel forgot them with a link', async () => {
    await expectRepaired(() => openwrt.simulator.kernel.routes.linkDown('net2'));
  });

  it('are set again when they were removed from the kernel', async () => {
    await expectRepaired(() => openwrt.simulator.kernel.ipRules.run(['del', 'prio', '77']));
  });

  it('are no success when the kernel refuses them, and affect no other', async () => {
    const unreachable = route('nowhere', { dst: '10.98.0.0/16', gw: '192.0.2.1' });
    await agent.run([...held, unreachable]);
    expect(agent.states()).toEqual({ ...applied(held), nowhere: 'Failed: RefusedByOpenwrt' });
    const told = agent.reports().find(({ name }) => name === 'nowhere')?.message;
    expect(told).toContain('its kernel refused it');
    expect(namesIn('route-cnf', 'route')).toEqual(['to_hub']);
  });
});

describe('what a VTI-based remote sets for all', () => {
  const proposal = cr('IpsecProposal', 'prop-1', {
    encryption_algorithm: 'aes128',
    hash_algorithm: 'sha256',
  });
  const site = (name: string, type: string): RuleObject =>
    cr('IpsecSite', name, {
      remote: '203.0.113.1',
      ...psk,
      type,
      connections: [{ name: `of-${name}`, conn_type: 'tunnel', mode: 'start' }],
    });
  const hasVirtualIps = (): boolean =>
    openwrt.sections('ipsec').find(({ type }) => type === 'ipsec')?.options['vip_enabled'] !== '0';

  it.each([
    ['is removed', [proposal]],
    ['is removed with its proposals', []],
    ['is one no more', [proposal, site('a', 'policy-based')]],
  ])('does not stay behind when the last one %s', async (_what, rules) => {
    await agent.run([proposal, site('a', 'VTI-based')]);
    expect(hasVirtualIps()).toBe(false);
    await agent.run(rules);
    expect(hasVirtualIps()).toBe(true);
    expect(agent.states()).toMatchObject(applied(rules));
  });

  it('is not taken from it by another remote', async () => {
    await agent.run([proposal, site('a', 'VTI-based')]);
    const both = [proposal, site('a', 'VTI-based'), site('b', 'policy-based')];
    await agent.run(both);
    expect(agent.states()).toEqual(applied(both));
    expect(hasVirtualIps()).toBe(false);
    await agent.run([proposal, site('b', 'policy-based')]);
    expect(hasVirtualIps()).toBe(true);
  });
});

describe('what is not ours', () => {
  it('is never changed, and its names are taken', async () => {
    await rest('POST', 'firewall/v1/rules', { name: 'theirs', src: 'lan', target: 'ACCEPT' });
    const files = filesOf(openwrt);
    const mine = firewallRule('theirs', { src: 'lan' });
    await agent.run([mine]);
    expect(agent.states()).toEqual({ theirs: 'Failed: NameTaken' });
    await agent.run([]);
    expect(filesOf(openwrt)).toEqual(files);
  });

  it('keeps an id from a rule that would have its name', async () => {
    await agent.run([firewallRule('admin_ssh', { src: 'lan' }), firewallRule('cfg0492bd')]);
    expect(agent.states()).toEqual({
      admin_ssh: 'Failed: RefusedByOpenwrt',
      cfg0492bd: 'Failed: UnsupportedByDriver',
    });
  });

  it('keeps a zone that it still uses, and the rest goes on', async () => {
    const lan = zone('lan1', 'ovn-net1');
    await agent.run([lan]);
    await rest('POST', 'firewall/v1/rules', { name: 'theirs', src: 'lan1', target: 'ACCEPT' });
    const leaving = {
      ...lan,
      metadata: { ...lan.metadata, deletionTimestamp: '2026-01-02T00:00:00Z' },
    };
    const another = zone('lan2', 'ovn-net2');
    await agent.run([leaving, another]);
    expect(agent.states()).toEqual({ lan1: 'Pending: Removing', lan2: 'Applied' });
    await rest('DELETE', 'firewall/v1/rules/theirs');
    await agent.run([leaving, another]);
    expect(agent.states()).toEqual({ lan1: 'Removed', lan2: 'Applied' });
  });
});

describe('what the API does wrong', () => {
  it('is noticed: a second object of the name', async () => {
    const rules = [zone('lan1', 'ovn-net1'), firewallRule('one'), nat('twice')];
    await agent.run(rules);
    const files = filesOf(openwrt);
    const kernel = kernelOf(openwrt);
    await rest('POST', 'firewall/v1/rules', { name: 'one', src: 'lan1', target: 'ACCEPT' });
    await rest('POST', 'nat/v1/nats', {
      name: 'twice',
      target: 'SNAT',
      src_dip: '172.16.30.10',
      dest: 'net1',
    });
    await agent.converge(rules);
    expect(filesOf(openwrt)).toEqual(files);
    expect(kernelOf(openwrt)).toEqual(kernel);
  });

  it('is noticed: success for what is not stored', async () => {
    const lan = zone('lan1', 'ovn-net1');
    openwrt.simulator.faults.add({
      object: 'rest',
      method: 'POST',
      contains: 'firewall/v1/rules',
      times: 1,
      action: { kind: 'http', status: 201, body: 'null' },
    });
    await agent.run([lan, firewallRule('lost')]);
    expect(agent.states()).toEqual({ lan1: 'Applied', lost: 'Failed: RefusedByOpenwrt' });
    expect(namesIn('firewall', 'zone')).toContain('lan1');
    expect(openwrt.simulator.reloads()['firewall']).toBeGreaterThan(0);
  });

  it('is repaired: a PUT that removes the object and then fails', async () => {
    const remote = (connections: readonly string[]): RuleObject =>
      cr(
        'IpsecSite',
        'site-a',
        {
          remote: '203.0.113.1',
          ...psk,
          connections: connections.map((name) => ({ name, conn_type: 'tunnel', mode: 'add' })),
        },
        { generation: connections.length },
      );
    const proposal = cr('IpsecProposal', 'prop-1', { encryption_algorithm: 'aes128' });
    await agent.run([proposal, remote(['one'])]);
    // Another's section of that name, which only UCI shows.
    openwrt.write('ipsec', `${openwrt.text('ipsec')}\nconfig other 'two'\n\toption x '1'\n`);
    await agent.converge([proposal, remote(['one', 'two'])]);
    expect(agent.states()).toMatchObject({ 'site-a': 'Failed: RefusedByOpenwrt' });
    const names = openwrt.sections('ipsec').map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['site_a', 'one', 'two']));
    expect(JSON.stringify(agent.reports())).not.toContain('s3cret');
  });

  it('is not believed: an error that is no JSON, with half an object left, each time it is tried', async () => {
    openwrt.simulator.faults.add({
      object: 'rest',
      contains: '10.9.0.0/16',
      when: 'after',
      action: { kind: 'http', status: 500, body: 'fw_rest.lua:187: attempt to concatenate\nstack' },
    });
    const half = nat('half', { src_ip: '10.9.0.0/16' });
    await agent.run([half, nat('whole', { src_ip: '10.3.0.0/16' })]);
    expect(agent.states()).toEqual({ half: 'Failed: RefusedByOpenwrt', whole: 'Applied' });
    expect(namesIn('firewall-nat', 'nat')).toEqual(['whole']);
    expect(agent.reports()[0]?.message).toContain('attempt to concatenate');
    expect(agent.reports()[0]?.message).not.toContain('stack');
  });
});

describe('the login', () => {
  const html = '<!DOCTYPE html><h2>Authorization Required</h2>';
  const forbid = (times: number): void => {
    const action = { kind: 'http', status: 403, body: html, contentType: 'text/html' } as const;
    openwrt.simulator.faults.add({ object: 'rest', times, action });
  };

  it('is renewed when the session has ended', async () => {
    await agent.run([nat('a')]);
    forbid(1);
    await agent.run([nat('a'), nat('b', { src_ip: '10.0.0.0/8' })]);
    expect(agent.states()).toEqual({ a: 'Applied', b: 'Applied' });
  });

  it('is no success when it does not help', async () => {
    await agent.run([nat('a')]);
    forbid(2);
    await expect(agent.run([])).rejects.toThrow('403');
    expect(namesIn('firewall-nat', 'nat')).toEqual(['a']);
  });
});

describe('the driver', () => {
  it('is found by auto where ubus does not answer', async () => {
    const { usernameFile, passwordFile } = openwrt;
    const login = { usernameFile, passwordFile };
    const driver = createDriver({
      wanted: 'auto',
      target: { url: openwrt.simulator.url },
      logins: new Map([
        ['ubus', login],
        ['icn', login],
      ]),
      packages: ['firewall'],
      unconfirmed: unconfirmedInMemory(),
      reassertMs: 0,
      clock: openwrt.clock.agent,
      log: silentLogger,
    });
    expect(driver.name).toBe('auto');
    await driver.read(NEVER);
    expect(driver.name).toBe('icn');
    await driver.close();
  });

  it('trusts the CA that it is given, and no other', async () => {
    const { certificate, key } = await makeCertificate('openwrt.test');
    const secured = await startIcn({ httpPort: null, https: { certificate, key } });
    const caFile = `${secured.folder}/ca.crt`;
    const { usernameFile, passwordFile } = secured;
    const url = secured.simulator.httpsUrl ?? '';
    const over = (target: object) =>
      createIcnDriver({
        target: { url, usernameFile, passwordFile, serverName: 'openwrt.test', ...target },
        reassertMs: 0,
        clock: secured.clock.agent,
      });
    writeFileSync(caFile, certificate);
    const { packages } = await over({ caFile }).read(NEVER);
    expect(packages.has('firewall/zones')).toBe(true);
    await expect(over({}).read(NEVER)).rejects.toBeInstanceOf(OpenwrtUnreachableError);
    await secured.stop();
  });
});

describe('information about OpenWRT over the API', () => {
  it('lists devices, routes, WANs and tunnels; nothing while OpenWRT does not answer', async () => {
    expect(await agent.driver.information(NEVER)).toBeUndefined();
    const proposal = { encryption_algorithm: 'aes128', hash_algorithm: 'sha256' };
    const networks = { local_subnet: '10.1.0.0/24', remote_subnet: '10.2.0.0/24' };
    const connection = { name: 'conn-1', conn_type: 'tunnel', mode: 'start', ...networks };
    const rules = [
      cr('IpsecProposal', 'prop-1', { ...proposal, dh_group: 'modp3072' }),
      cr('IpsecSite', 'site-1', { ...psk, remote: '203.0.113.1', connections: [connection] }),
      cr('CNFRoute', 'route-1', { dst: '10.99.0.0/16', gw: '172.16.30.1', dev: 'net1' }),
    ];
    await agent.run(rules);
    expect(agent.states()).toEqual(applied(rules));
    const before = await agent.driver.fingerprint(NEVER);
    const calls = await callsOf(async () => {
      const told = await agent.driver.information(NEVER);
      expect(told?.interfaces).toContainEqual(
        expect.objectContaining({ device: 'net1', up: true, addresses: ['172.16.30.10'] }),
      );
      const route = { target: '10.99.0.0/16', gateway: '172.16.30.1', interface: 'net1' };
      expect(told?.routes).toContainEqual(route);
      expect(told?.tunnels).toEqual([{ name: 'site_1-conn_1', up: true, state: 'ESTABLISHED' }]);
      expect(told?.wans).toMatchObject([{ interface: 'net1' }, { interface: 'net2' }]);
    });
    const modules = ['interface', 'route', 'wan', 'ipsec'];
    expect(calls).toEqual(modules.map((name) => `GET v1/status/${name}`));
    openwrt.simulator.faults.add({ object: 'rest', action: { kind: 'reset' } });
    await expect(agent.driver.information(NEVER)).rejects.toThrow(OpenwrtUnreachableError);
    openwrt.simulator.faults.clear();
    expect(await agent.driver.fingerprint(NEVER)).toBe(before);
  });
});
