/** A CR of each kind, made, changed and removed by passes on the simulator; what is in its files is read by the judge. */
import { agentKinds } from '#shared/resources/registry.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startOpenwrt, type OpenwrtOptions, type TestOpenwrt } from './support/openwrt.ts';
import { cr, openPass, PACKAGES, type TestPass } from './support/pass.ts';

const SIMULATOR = join(import.meta.dirname, '../../openwrt-simulator');

/** The rights of the agent's login, less that to write package network. */
const aclWithoutNetwork = (): Record<string, string> => {
  const folder = join(SIMULATOR, 'factory/acl');
  const others = readdirSync(folder).map((name) => [
    name,
    readFileSync(join(folder, name), 'utf8'),
  ]);
  const agents = readFileSync(join(SIMULATOR, 'acl/sdewan-agent.json'), 'utf8');
  const less = agents.replace(
    /"ipsec",\s*"network",\s*"keepalived"\s*\]/,
    '"ipsec", "keepalived"]',
  );
  expect(less).not.toBe(agents);
  return { ...Object.fromEntries(others), 'sdewan-agent.json': less };
};

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

const connection = (name: string) => ({ name, conn_type: 'tunnel', mode: 'start' });
const remote = (name: string) => ({
  remote: '203.0.113.1',
  authentication_method: 'psk',
  pre_shared_key: 's3cret',
  crypto_proposal: ['p-1'],
  connections: [connection(name)],
});

/** Per kind: where it shows in OpenWRT, a spec, and another. */
const rules: Record<string, { section: string; spec: object; changed: object }> = {
  FirewallZone: {
    section: 'firewall.sdewan_zone_r',
    spec: { network: ['ovn-net1'] },
    changed: { network: ['ovn-net1'], input: 'DROP' },
  },
  FirewallForwarding: {
    section: 'firewall.sdewan_fwd_r',
    spec: { src: 'r', dest: 'wan' },
    changed: { src: 'r', dest: 'lan' },
  },
  FirewallRule: {
    section: 'firewall.sdewan_rule_r',
    spec: { src: 'r', target: 'DROP' },
    changed: { src: 'r', target: 'ACCEPT' },
  },
  FirewallSNAT: {
    section: 'firewall.sdewan_snat_r',
    spec: { dest: 'wan', src_dip: '1.2.3.4' },
    changed: { dest: 'wan', src_dip: '1.2.3.5' },
  },
  FirewallDNAT: {
    section: 'firewall.sdewan_dnat_r',
    spec: { src: 'wan', dest_ip: '192.168.1.1' },
    changed: { src: 'wan', dest_ip: '192.168.1.2' },
  },
  NetworkFirewallRule: {
    section: 'firewall.sdewan_net_r',
    spec: { src: '#default', dest: 'net1', target: 'DROP' },
    changed: { src: '#default', target: 'DROP' },
  },
  CNFNAT: {
    section: 'firewall.sdewan_nat_r',
    spec: { target: 'MASQUERADE', dest: '#default' },
    changed: { target: 'DNAT', src: 'net1', dest_ip: '192.168.1.1' },
  },
  Mwan3Policy: {
    section: 'mwan3.r_policy',
    spec: { members: [{ network: 'ovn-net1', metric: 1, weight: 1 }] },
    changed: { members: [{ network: 'ovn-net2', metric: 1, weight: 1 }] },
  },
  Mwan3Rule: {
    section: 'mwan3.r_rule',
    spec: { policy: 'r-policy', dest_ip: '0.0.0.0/0' },
    changed: { policy: 'r-policy', dest_ip: '8.8.8.8' },
  },
  CNFRoute: {
    section: 'network.sdewan_route_r',
    spec: { dst: '10.0.0.0/8', dev: '#172.16.20.10', table: 'cnf' },
    changed: { dst: 'default', dev: '#default' },
  },
  CNFRouteRule: {
    section: 'network.sdewan_rule_r',
    spec: { src: '10.0.0.0/8', table: 40 },
    changed: { src: '10.0.0.0/8', not: true },
  },
  VirtualAddress: {
    section: 'keepalived.sdewan_vip_r',
    spec: { network: 'ovn-net1', addresses: ['192.168.1.1/24'] },
    changed: { network: 'ovn-net1', addresses: ['192.168.1.1/24'], virtualRouterId: 7 },
  },
  SdewanApplication: {
    section: 'network.sdewan_app_r_10_244_1_5',
    spec: { podSelector: { matchLabels: { app: 'web' } } },
    changed: { podSelector: { matchLabels: { app: 'shop' } } },
  },
  IpsecProposal: {
    section: 'ipsec.p_1',
    spec: { encryption_algorithm: 'aes256', hash_algorithm: 'sha256' },
    changed: { encryption_algorithm: 'aes128gcm16' },
  },
  IpsecHost: {
    section: 'ipsec.host_r',
    spec: remote('h-1'),
    changed: { ...remote('h-1'), connections: [connection('h-2')] },
  },
  IpsecSite: {
    section: 'ipsec.site_r',
    spec: remote('s-1'),
    changed: { ...remote('s-1'), remote: '203.0.113.2' },
  },
};

const nameOf: Record<string, string> = {
  Mwan3Policy: 'r-policy',
  Mwan3Rule: 'r-rule',
  IpsecProposal: 'p-1',
  IpsecHost: 'host.r',
  IpsecSite: 'site.r',
};

/** The addresses that the coordinator writes for a rule that follows pods. */
const followed: Record<string, Record<'spec' | 'changed', string>> = {
  SdewanApplication: { spec: '10.244.1.5', changed: '10.244.1.6,fd00::6' },
};
const annotationsOf = (kind: string, which: 'spec' | 'changed') => {
  const addresses = followed[kind]?.[which];
  return addresses === undefined
    ? {}
    : { annotations: { 'sdewan.akraino.org/pod-addresses': addresses } };
};

const everything = (which: 'spec' | 'changed', more: Partial<RuleObject['metadata']> = {}) =>
  Object.entries(rules).map(([kind, rule]) => {
    const object = cr(kind, nameOf[kind] ?? 'r', rule[which]);
    return { ...object, metadata: { ...object.metadata, ...annotationsOf(kind, which), ...more } };
  });

const sectionsOf = (packageName: string) => openwrt.sections(packageName);
const optionsOf = (path: string) => {
  const [packageName = '', name] = path.split('.');
  return sectionsOf(packageName).find((section) => section.name === name)?.options;
};
/** Why a rule is not applied; that the kernel is not read is reported for those that are. */
const statesOf = () =>
  agent
    .reports()
    .map(
      ({ kind, state, message }) =>
        `${kind} ${state}${['Applied', 'Removed'].includes(state) ? '' : ` ${message}`}`,
    );

const startWith = async (options: OpenwrtOptions): Promise<void> => {
  await agent.driver.close();
  await openwrt.stop();
  openwrt = await startOpenwrt(options);
  agent = await openPass(openwrt);
};

const everyKind =
  'every kind that agents apply comes to OpenWRT, changes there, and goes without a trace';
it.each(['own', 'stock'] as const)(`${everyKind}: login %s`, async (login) => {
  await startWith({ login });
  expect(Object.keys(rules).sort()).toEqual(agentKinds.map(({ kind }) => kind).sort());
  const atFirst = PACKAGES.map(sectionsOf);

  await agent.run(everything('spec'));
  expect(statesOf()).toEqual(Object.keys(rules).map((kind) => `${kind} Applied`));
  const before = Object.values(rules).map(({ section }) => optionsOf(section));
  expect(before).not.toContain(undefined);

  await agent.run(everything('changed'));
  expect(statesOf()).toEqual(Object.keys(rules).map((kind) => `${kind} Applied`));
  const after = Object.values(rules).map(({ section }) => optionsOf(section));
  expect(after.filter((options, index) => isDeepStrictEqual(options, before[index]))).toEqual([]);

  await agent.run(everything('changed', { deletionTimestamp: '2026-01-02T00:00:00Z' }));
  expect(statesOf()).toEqual(Object.keys(rules).map((kind) => `${kind} Removed`));
  expect(PACKAGES.map(sectionsOf)).toEqual(atFirst);
  expect(agent.transactions()).toEqual(['done', 'done', 'done']);
});

it('a login that may not write a package affects the rules of that package only', async () => {
  await startWith({ factory: { aclFiles: aclWithoutNetwork() } });

  await agent.run(everything('spec'));
  const states = new Map(agent.reports().map(({ kind, state }) => [kind, state]));
  expect(states.get('CNFRoute')).toBe('Pending');
  expect(states.get('CNFRouteRule')).toBe('Pending');
  expect(states.get('SdewanApplication')).toBe('Pending');
  expect([...states.values()].filter((state) => state === 'Applied')).toHaveLength(
    agentKinds.length - 3,
  );
});
